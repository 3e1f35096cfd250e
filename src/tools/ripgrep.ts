import { availableParallelism } from 'node:os';
import type PQueue from 'p-queue';
import { messageOf } from '../core/errors.ts';
import { pathMatches } from '../core/wildcard.ts';
import { problem, systemCode } from './tool-problem.ts';

export interface RipgrepRun {
  args: readonly string[];
  cwd: string;
  signal: AbortSignal;
  /** Milliseconds. */
  timeout: number;
  /** Ends each record: a NUL for file lists, else a line feed. */
  separator: '\0' | '\n';
  /** Called with every record; `false` ends the search. */
  take(record: string): boolean;
}

export interface RipgrepEnd {
  how: 'ended' | 'stopped' | 'timed-out';
  /** 0 found, 1 nothing found, 2 trouble (maybe beside results). */
  exitCode: number;
  stderr: string;
}

/** A record longer than this is cut: minified files have lines of megabytes. */
const MAX_RECORD = 64 * 1024;
const MAX_STDERR = 4_000;

/** It uses every core by itself. Beyond the files that a process may open, starting one more fails. */
const MOST_AT_ONCE = Math.max(4, availableParallelism());

let queue: Promise<PQueue> | undefined;

/**
 * Runs ripgrep and hands over its records as they come; waits for its turn among all of this process.
 * @throws ToolProblem when the program is missing; the signal's reason when aborted.
 */
export async function ripgrep(run: RipgrepRun): Promise<RipgrepEnd> {
  queue ??= import('p-queue').then(({ default: Queue }) => new Queue({ concurrency: MOST_AT_ONCE }));
  return (await queue).add(() => start(run), { signal: run.signal });
}

async function start(run: RipgrepRun): Promise<RipgrepEnd> {
  run.signal.throwIfAborted();
  const [{ execa }, program] = await Promise.all([import('execa'), findProgram()]);
  const child = execa(program, ['--no-config', ...run.args], {
    cwd: run.cwd,
    stdin: 'ignore',
    buffer: false,
    reject: false,
    encoding: 'buffer',
    timeout: run.timeout,
    cancelSignal: run.signal,
    forceKillAfterDelay: 500,
  });
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => {
    if (stderr.length < MAX_STDERR) stderr += bytes.toString('utf8');
  });
  let stopped = false;
  const records = new RecordSplitter(run.separator, (record) => {
    if (!stopped && !run.take(record)) {
      stopped = true;
      child.kill();
    }
  });
  child.stdout.on('data', (bytes: Buffer) => {
    if (!stopped) records.push(bytes);
  });
  const result = await child;
  run.signal.throwIfAborted();
  records.end();
  if (stopped) return { how: 'stopped', exitCode: 0, stderr };
  if (result.timedOut) return { how: 'timed-out', exitCode: 0, stderr };
  if (result.exitCode === undefined) {
    const missing = systemCode(result.cause) === 'ENOENT';
    const why = missing ? 'the program ripgrep is not installed' : messageOf(result.cause ?? result);
    throw problem('no-search', { why });
  }
  return { how: 'ended', exitCode: result.exitCode, stderr };
}

/** The binary of the package, or one on the PATH where the package has none for this platform. */
async function findProgram(): Promise<string> {
  try {
    return (await import('@vscode/ripgrep')).rgPath;
  } catch {
    return 'rg';
  }
}

class RecordSplitter {
  readonly #separator: string;
  readonly #take: (record: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #skipping = false;

  constructor(separator: string, take: (record: string) => void) {
    this.#separator = separator;
    this.#take = take;
  }

  push(bytes: Uint8Array): void {
    const parts = this.#decoder.decode(bytes, { stream: true }).split(this.#separator);
    const last = parts.pop() ?? '';
    for (const part of parts) {
      if (!this.#skipping) this.#take((this.#rest + part).slice(0, MAX_RECORD).toWellFormed());
      this.#rest = '';
      this.#skipping = false;
    }
    if (this.#skipping) return;
    this.#rest += last;
    if (this.#rest.length <= MAX_RECORD) return;
    this.#take(this.#rest.slice(0, MAX_RECORD).toWellFormed());
    this.#rest = '';
    this.#skipping = true;
  }

  end(): void {
    if (this.#rest !== '' && !this.#skipping) this.#take(this.#rest);
  }
}

/** Whether a path below a folder fits a glob; one without `/` is for names at any depth. */
export function globFits(glob: string, path: string): boolean {
  const clean = glob.replaceAll('\\', '/').replace(/^(?:\.?\/)+/, '');
  return pathMatches(clean.includes('/') ? clean : `**/${clean}`, path);
}
