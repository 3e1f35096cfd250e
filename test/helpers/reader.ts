import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { packageRoot } from '../../src/core/prompts.ts';

/** What stands in for a model and its key: rules in the reader's own configuration, nothing else. */
const STAND_IN = {
  'config.toml': `default_model = "stand-in/rules"
[[providers]]
name = "stand-in"
kind = "scripted"
script = "stand-in.yaml"
models = ["rules"]
`,
  'stand-in.yaml': String.raw`rules:
  - when: { turn_step: 1, user: "/Write (\\S+) from/" }
    calls: [{ name: write_file, arguments: { path: '{{user | match "Write (\\S+) from"}}', content: "{{user}}" } }]
  - text: The stand-in answers.
`,
  'silent.yaml': 'rules: [{ text: "", faults: { hang: true } }]\n',
};

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface ListedSession {
  session: string;
  kind: string;
  skill: string | null;
  status: string;
}

/** Somebody who follows a page: a home with the stand-in, a project, and our commands on the path. */
export class Reader {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), 'reasonix-reader-')));
  readonly home = join(this.#root, 'home');
  readonly project = join(this.#root, 'project');
  readonly #bin = join(this.#root, 'bin');

  constructor() {
    for (const [name, text] of Object.entries(STAND_IN)) this.#write(join(this.home, '.reasonix', name), text);
    const program = `exec '${process.execPath}' '${join(packageRoot, 'bin', 'reasonix.js')}' "$@"\n`;
    this.#write(join(this.#bin, 'reasonix'), `#!/bin/sh\n${program}`, 0o755);
    this.#write(join(this.#bin, 'npx'), `#!/bin/sh\n[ "$1" = reasonix ] || exit 99\nshift\n${program}`, 0o755);
    mkdirSync(join(this.project, 'node_modules'), { recursive: true });
    symlinkSync(packageRoot, join(this.project, 'node_modules', 'reasonix'));
    symlinkSync(join(packageRoot, 'node_modules', 'zod'), join(this.project, 'node_modules', 'zod'));
  }

  /** Writes a file of the project. */
  write(name: string, text: string): string {
    return this.#write(join(this.project, name), text);
  }

  /** Runs lines as they would be pasted into a shell; the first command that fails ends them. */
  shell(lines: string): Promise<Ended> {
    return this.#run('/bin/sh', ['-ec', lines]);
  }

  node(file: string, ...args: string[]): Promise<Ended> {
    return this.#run(process.execPath, [file, ...args]);
  }

  /** All sessions, sub-agents too, newest first. */
  async sessions(): Promise<ListedSession[]> {
    const { stdout } = await this.shell('reasonix session list --all --json');
    return (JSON.parse(stdout) as { sessions: ListedSession[] }).sessions;
  }

  /** Leaves a session behind whose process was killed while it waited for its model. */
  async leaveCutSession(): Promise<void> {
    const args = ['run', '-e', `providers.stand-in.script=${join(this.home, '.reasonix', 'silent.yaml')}`];
    const child = spawn('reasonix', [...args, '--output', 'stream-json', 'Count the files.'], {
      cwd: this.project,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.includes('"user.message"')) child.kill('SIGKILL');
    }
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  get #env(): Record<string, string> {
    return { HOME: this.home, PATH: `${this.#bin}${delimiter}${process.env.PATH ?? ''}` };
  }

  #write(path: string, text: string, mode = 0o644): string {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
    return path;
  }

  #run(program: string, args: readonly string[]): Promise<Ended> {
    return new Promise((resolve) => {
      const options = { cwd: this.project, env: this.#env, timeout: 60_000 };
      const child = execFile(program, args, options, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr }),
      );
      child.stdin?.end();
    });
  }
}
