import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type ScriptedFunction, type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';

/** A project folder and a home of their own, removed after the test. */
export interface Workshop {
  cwd: string;
  home: string;
  write(path: string, text: string): string;
  /** Writes `.reasonix/skills/<name>/SKILL.md`. */
  skill(name: string, header: Record<string, unknown>, body: string): string;
  open(script: ScriptedFunction, options?: RuntimeOptions): Promise<{ runtime: Runtime; model: ScriptedModel }>;
}

export function workshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'reasonix-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const cwd = join(folder, 'project');
  const home = join(folder, 'home');
  mkdirSync(cwd);
  mkdirSync(home);
  const write = (path: string, text: string): string => {
    const file = join(cwd, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  return {
    cwd,
    home,
    write,
    skill: (name, header, body) => {
      const lines = Object.entries({ description: `About ${name}.`, ...header }).map(
        ([key, value]) => `${key}: ${JSON.stringify(value)}`,
      );
      return write(`.reasonix/skills/${name}/SKILL.md`, `---\n${lines.join('\n')}\n---\n${body}`);
    },
    async open(script, options = {}) {
      const model = scriptedModel(script);
      const runtime = await openRuntime({ cwd, home, env: {}, model, ...options });
      onTestFinished(() => runtime.close());
      return { runtime, model };
    },
  };
}

export const call = (name: string, input: unknown) => ({ name, arguments: JSON.stringify(input) });

/** References in the order in which tool results name them. */
export const referencesIn = (messages: readonly { role: string; content?: string }[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'tool' ? [...(/Subagent reference: (sa_\w+)/.exec(message.content ?? '')?.slice(1) ?? [])] : [],
  );
