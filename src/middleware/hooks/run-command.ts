import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import { timerDelay } from '../../core/timer.ts';
import { endGroup, tieToProcess } from '../../tools/process-group.ts';
import { commandEnvironment, type EnvironmentRules } from '../../tools/shell-environment.ts';

/** How long the output of a hook that has ended is waited for, in milliseconds. */
const DRAIN = 200;

/** Most that is kept of what a hook says, in bytes. */
const LONGEST_OUTPUT = 64 * 1024;

/** What a hook's command did. */
export interface HookRun {
  /** `blocked` is exit code 2; `failed` any other, a time-out included. */
  status: 'passed' | 'blocked' | 'failed';
  stdout: string;
  /** Why it blocked or failed. */
  reason: string;
}

export interface HookCommand {
  command: string;
  /** Milliseconds. */
  timeout: number;
  cwd: string;
  /** Written to its standard input as JSON. */
  input: Record<string, unknown>;
  env: NodeJS.ProcessEnv;
  secrets: EnvironmentRules;
  signal: AbortSignal;
}

/** Runs a hook's command in the shell, with its process group ended at the time limit. Never throws but for the signal. */
export async function runHookCommand(hook: HookCommand): Promise<HookRun> {
  const { command, timeout, cwd, input, signal } = hook;
  signal.throwIfAborted();
  const child = spawn(command, {
    shell: true,
    cwd,
    env: commandEnvironment(hook.env, hook.secrets),
    // A group of its own, so that all of it can be ended; on Windows that would open a window.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = new Promise<number | NodeJS.Signals | Error>((resolve) => {
    child.once('error', resolve);
    child.once('exit', (code, by) => resolve(code ?? by ?? 'SIGKILL'));
  });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  // Many a hook does not read what it is given.
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(input));
  const { pid } = child;
  if (pid === undefined) return failure('', messageOf(await ended));
  const untie = tieToProcess(pid);
  const over = new AbortController();
  const cancelled = new Promise<'cancelled'>((resolve) => {
    signal.addEventListener('abort', () => resolve('cancelled'), { once: true, signal: over.signal });
  });
  try {
    const end = await Promise.race([
      ended,
      cancelled,
      delay(timerDelay(timeout), 'timeout' as const, { signal: over.signal }),
    ]);
    const isOver = end !== 'cancelled' && end !== 'timeout';
    // What a hook leaves behind may hold its output open for ever.
    if (isOver) await Promise.race([closed, delay(DRAIN, undefined, { signal: over.signal })]);
    await endGroup(pid, 500);
    await Promise.race([closed, delay(DRAIN, undefined, { signal: over.signal })]);
    if (end === 'cancelled') signal.throwIfAborted();
    if (end === 'timeout') return failure(stdout(), `it took longer than ${timeout / 1000} s`);
    if (end === 0) return { status: 'passed', stdout: stdout(), reason: '' };
    const said = stderr().trim() || stdout().trim();
    if (end === 2) return { status: 'blocked', stdout: stdout(), reason: said || 'it gave no reason' };
    const how = typeof end === 'number' ? `exit code ${end}` : `ended by ${end}`;
    return failure(stdout(), said || (end instanceof Error ? messageOf(end) : how));
  } finally {
    over.abort();
    untie();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** Reads all of a stream and keeps its beginning. */
function collect(stream: Readable): () => string {
  const parts: Buffer[] = [];
  let size = 0;
  stream.on('error', () => {});
  stream.on('data', (bytes: Buffer) => {
    if (size >= LONGEST_OUTPUT) return;
    parts.push(bytes);
    size += bytes.length;
  });
  return () => Buffer.concat(parts).subarray(0, LONGEST_OUTPUT).toString('utf8').toWellFormed();
}

const failure = (stdout: string, reason: string): HookRun => ({ status: 'failed', stdout, reason });
