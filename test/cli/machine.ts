import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnTs, type TsChild, type TsExit } from '../helpers/spawn-ts.ts';

const PROGRAM = new URL('./program.ts', import.meta.url);

const MODEL = `default_model = "demo/m"
[[providers]]
name = "demo"
kind = "scripted"
models = ["m"]
script = "script.yaml"
`;

/** A process of the command line, with what it has said on stderr so far. */
export interface Started {
  readonly child: TsChild;
  stderr(): string;
  /** Settles when stderr has matched `pattern`, with the match. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<TsExit>;
}

export interface MachineSettings {
  postgres: string;
  redis: string;
  /** The script of its model, YAML. */
  script: string;
  /** What its tables and its keys are called: machines of other groups have nothing to do with it. */
  group: string;
  /** What runs its programs: a network of its own. Default this one's. */
  prefix?: readonly string[] | undefined;
}

/**
 * A machine: a project and a home of its own, and nothing in common with others but Postgres and Redis.
 * `--config alone.toml` is the same without those two, `only-engine.toml` names Redis alone.
 */
export class Machine {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reasonix-machine-')));
  readonly project = join(this.folder, 'project');
  readonly #home = join(this.folder, 'home');
  readonly #prefix: readonly string[];
  readonly #started = new Set<TsChild>();

  constructor({ postgres, redis, script, group, prefix = [] }: MachineSettings) {
    this.#prefix = prefix;
    mkdirSync(join(this.project, '.git'), { recursive: true });
    mkdirSync(this.#home);
    this.write('script.yaml', script);
    this.write('alone.toml', MODEL);
    this.write('only-engine.toml', `[engine]\nurl = "${redis}"\n`);
    this.write(
      'reasonix.toml',
      `${MODEL}
[store]
url = "${postgres}"
schema = "${group}"
pool_size = 4
[engine]
url = "${redis}"
lease = "2s"
prefix = "${group}"
`,
    );
  }

  write(path: string, text: string): void {
    const file = join(this.project, path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }

  async start(args: readonly string[], env: Record<string, string> = {}): Promise<Started> {
    const child = await spawnTs(PROGRAM, {
      args,
      prefix: this.#prefix,
      cwd: this.project,
      env: { HOME: this.#home, USERPROFILE: this.#home, REASONIX_HOME: undefined, ...env },
    });
    child.process.stdin?.end();
    this.#started.add(child);
    let stderr = '';
    child.process.stderr?.on('data', (text: string) => {
      stderr += text;
    });
    let isOver = false;
    const ended = child.exited.finally(() => {
      isOver = true;
      this.#started.delete(child);
    });
    return {
      child,
      stderr: () => stderr,
      ended,
      async said(pattern) {
        for (;;) {
          const match = pattern.exec(stderr);
          if (match) return match;
          if (isOver) throw new Error(`it ended without saying ${String(pattern)}:\n${stderr}`);
          await delay(20);
        }
      },
    };
  }

  async run(args: readonly string[]): Promise<TsExit> {
    return (await this.start(args)).ended;
  }

  remove(): void {
    for (const child of this.#started) child.kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
