import { messageOf } from '../../core/errors.ts';
import { endGroup, tieToProcess } from '../../tools/process-group.ts';
import { commandEnvironment, type EnvironmentRules } from '../../tools/shell-environment.ts';

/** Most that is read of what a hook says, in bytes. */
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
  const { execa } = await import('execa');
  const child = execa(command, {
    shell: true,
    cwd,
    env: commandEnvironment(hook.env, hook.secrets),
    extendEnv: false,
    input: JSON.stringify(input),
    reject: false,
    maxBuffer: LONGEST_OUTPUT,
    // A group of its own, so that all of it can be ended; on Windows that would open a window.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const { pid } = child;
  if (pid === undefined) return failure('', (await child).shortMessage ?? 'it could not be started');
  const untie = tieToProcess(pid);
  let stopped: 'timeout' | 'cancelled' | undefined;
  const stop = (why: 'timeout' | 'cancelled') => {
    stopped ??= why;
    void endGroup(pid, 500);
  };
  const timer = setTimeout(() => stop('timeout'), timeout);
  const onAbort = () => stop('cancelled');
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const { exitCode, stdout, stderr, shortMessage } = await child;
    if (stopped === 'cancelled') signal.throwIfAborted();
    if (stopped === 'timeout') return failure(stdout, `it took longer than ${timeout / 1000} s`);
    if (exitCode === 0) return { status: 'passed', stdout, reason: '' };
    const said = stderr.trim() || stdout.trim();
    if (exitCode === 2) return { status: 'blocked', stdout, reason: said || 'it gave no reason' };
    return failure(stdout, said || messageOf(shortMessage ?? `exit code ${exitCode}`));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    untie();
  }
}

const failure = (stdout: string, reason: string): HookRun => ({ status: 'failed', stdout, reason });
