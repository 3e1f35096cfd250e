import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
export const binary = join(root, 'bin/reasonix.js');

/** The command line runs as it is shipped. Test files run side by side, and only one may build. */
export async function built(): Promise<void> {
  const lock = join(root, 'node_modules/.cache/reasonix-build.lock');
  mkdirSync(dirname(lock), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch {
      const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > 120_000) rmSync(lock, { recursive: true, force: true });
      await delay(100);
    }
  }
  try {
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/ensure-build.js')], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`the build failed:\n${stderr}`);
  } finally {
    rmdirSync(lock);
  }
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Options {
  /** Given to stdin, which is closed then. Without it stdin stays open, as many a caller leaves it. */
  input?: string;
  env?: Record<string, string | undefined>;
  cwd?: string;
}

export interface Running {
  process: ChildProcess;
  ended: Promise<Ended>;
  /** The next line of stdout, `undefined` at its end. */
  line(): Promise<string | undefined>;
  /** Settles when stderr has shown `text`. */
  said(text: string): Promise<void>;
}

/** A project and a home of their own, with a scripted model. */
export class Workplace {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'reasonix-cli-')));
  readonly project = join(this.folder, 'project');
  readonly home = join(this.folder, 'home');
  readonly reasonixHome = join(this.home, '.reasonix');
  readonly #running = new Set<ChildProcess>();

  constructor(script = '') {
    mkdirSync(this.project);
    mkdirSync(this.home);
    // A repository of its own, so that nothing above it counts.
    mkdirSync(join(this.project, '.git'));
    if (script === '') return;
    this.write('script.yaml', script);
    this.write(
      'reasonix.toml',
      'default_model = "demo/m"\n[[providers]]\nname = "demo"\nkind = "scripted"\nmodels = ["m"]\nscript = "script.yaml"\n',
    );
  }

  write(path: string, text: string): string {
    const file = join(this.project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  skill(name: string, header: string, body = 'Do it.'): string {
    return this.write(`.reasonix/skills/${name}/SKILL.md`, `---\nname: ${name}\n${header}\n---\n${body}\n`);
  }

  start(args: readonly string[], options: Options = {}): Running {
    const { PATH, SystemRoot } = process.env;
    const child = spawn(process.execPath, [binary, ...args], {
      cwd: options.cwd ?? this.project,
      env: { PATH, SystemRoot, HOME: this.home, USERPROFILE: this.home, ...options.env },
      stdio: 'pipe',
    });
    this.#running.add(child);
    child.stdin.on('error', () => {});
    if (options.input !== undefined) child.stdin.end(options.input);
    let stdout = '';
    let stderr = '';
    const heard = new Set<() => void>();
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      for (const listener of heard) listener();
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        this.#running.delete(child);
        resolve({ code, signal, stdout, stderr });
      });
    });
    return {
      process: child,
      ended,
      line: async () => (await lines.next()).value,
      said: (text) =>
        new Promise((resolve, reject) => {
          const look = () => {
            if (stderr.includes(text)) {
              heard.delete(look);
              resolve();
            }
          };
          heard.add(look);
          look();
          void ended.then(() => reject(new Error(`it ended without saying "${text}":\n${stderr}`)));
        }),
    };
  }

  run(args: readonly string[], options: Options = {}): Promise<Ended> {
    return this.start(args, options).ended;
  }

  /** Runs a command that prints JSON and succeeds. */
  async json<T>(args: readonly string[], options: Options = {}): Promise<T> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`reasonix ${args.join(' ')} ended with ${code}:\n${stderr}`);
    return JSON.parse(stdout) as T;
  }

  remove(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
