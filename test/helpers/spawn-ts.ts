import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { bundleTs } from './bundle-ts.ts';

export interface SpawnTsOptions {
  args?: readonly string[];
  /** Added to the environment of the test process. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** Flags for node itself. */
  nodeArgs?: readonly string[];
  /** A program and its arguments that run node in their turn, as `ip netns exec NAME`. */
  prefix?: readonly string[];
}

export interface TsExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface TsChild {
  readonly process: ChildProcess;
  readonly pid: number;
  /** The next line of stdout that was not handed out yet. Rejects when the process ends before it, with its stderr. */
  line(): Promise<string>;
  /** All further lines until the process ends. */
  lines(): AsyncIterable<string>;
  /** Writes a line to stdin. */
  write(line: string): void;
  kill(signal?: NodeJS.Signals): void;
  /** Settles when the process has ended and its output is read. */
  readonly exited: Promise<TsExit>;
}

/** Runs a TypeScript file in a node process of its own. It is killed when the test process ends. */
export async function spawnTs(entry: string | URL, options: SpawnTsOptions = {}): Promise<TsChild> {
  const file = await bundleTs(entry);
  const line = [
    ...(options.prefix ?? []),
    process.execPath,
    ...(options.nodeArgs ?? []),
    file,
    ...(options.args ?? []),
  ];
  const child = spawn(line[0] ?? '', line.slice(1), {
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
    stdio: 'pipe',
  });
  const killLater = () => child.kill('SIGKILL');
  process.once('exit', killLater);
  child.stdin.on('error', () => {});

  const ready: string[] = [];
  const waiting: { resolve: (line: string | undefined) => void }[] = [];
  let ended = false;
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    stdout += `${line}\n`;
    const reader = waiting.shift();
    if (reader) reader.resolve(line);
    else ready.push(line);
  });

  const exited = new Promise<TsExit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      ended = true;
      process.off('exit', killLater);
      for (const reader of waiting.splice(0)) reader.resolve(undefined);
      resolve({ code, signal, stdout, stderr });
    });
  });

  const next = (): Promise<string | undefined> => {
    const line = ready.shift();
    if (line !== undefined || ended) return Promise.resolve(line);
    return new Promise((resolve) => waiting.push({ resolve }));
  };

  return {
    process: child,
    pid: child.pid ?? -1,
    async line() {
      const line = await next();
      if (line === undefined) throw new Error(`the process ended without another line; its stderr:\n${stderr}`);
      return line;
    },
    async *lines() {
      for (let line = await next(); line !== undefined; line = await next()) yield line;
    },
    write: (line) => void child.stdin.write(`${line}\n`),
    kill: (signal = 'SIGKILL') => void child.kill(signal),
    exited,
  };
}
