import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { toolPrompt } from '../core/prompts.ts';
import { timerDelay } from '../core/timer.ts';
import { defineTool, type Tool, type ToolContext, type ToolOutcome } from './define-tool.ts';
import { memo } from './memo.ts';
import { endGroup, tieToProcess } from './process-group.ts';
import { commandEnvironment, type EnvironmentRules, scratchEnvironment } from './shell-environment.ts';
import { ShellOutput } from './shell-output.ts';
import { problem } from './tool-problem.ts';
import type { Workspace } from './workspace.ts';

export interface ShellOptions {
  /** Seconds a command may run when the call does not say. Default 120. */
  timeout?: number | undefined;
  /** Seconds that a call may ask for. Default 1800. */
  maxTimeout?: number | undefined;
  /** Environment that the command's is made from. Default: this process's. */
  environment?: NodeJS.ProcessEnv | undefined;
  /** Variables that reach the command although they look like secrets, and some that do not whatever they look like. */
  secrets?: EnvironmentRules | undefined;
}

/** Milliseconds that the pipes may stay open after the command has ended: its last output is still in them. */
const DRAIN = 500;
const PROGRESS_EVERY = 250;

const schemaOf = memo((parameters: Record<string, string>) =>
  z.object({
    command: z.string(),
    timeout: z
      .number()
      .optional()
      .describe(parameters.timeout ?? ''),
  }),
);

/**
 * Runs a command by `bash`, else `sh`; on Windows by `cmd.exe`, which is always there and whose
 * syntax models know. What the command does is not confined to the workspace: permissions decide on it.
 */
export function shellTool(workspace: Workspace, options: ShellOptions = {}): Tool<Command> {
  const fallback = options.timeout ?? 120;
  const most = Math.max(fallback, options.maxTimeout ?? 1_800);
  const shell = findShell();
  const { description, parameters } = toolPrompt('shell', { shell: shell.name, timeout: fallback, most });
  return defineTool({
    name: 'shell',
    description,
    input: schemaOf(parameters),
    effects: 'write',
    subject: ({ command }) => command,
    async execute({ command, timeout }, context) {
      if (command.trim() === '') throw problem('command-empty');
      if (command.includes('\0')) throw problem('command-nul');
      const seconds = Math.min(most, timeout !== undefined && timeout > 0 ? timeout : fallback);
      const cwd = await workspace.realCwd();
      const env = commandEnvironment(options.environment ?? process.env, options.secrets);
      const { scratch } = context;
      if (scratch !== undefined) {
        await mkdir(scratch, { recursive: true, mode: 0o700 });
        Object.assign(env, scratchEnvironment(scratch));
      }
      return runCommand({ command, seconds, shell, cwd, env }, context);
    },
  });
}

type Command = { command: string; timeout?: number | undefined };

interface Shell {
  name: string;
  /** The words that run `command`, error output and standard output in one pipe, so that they keep their order. */
  words(command: string): [string, ...string[]];
}

function findShell(): Shell {
  if (process.platform === 'win32') {
    const cmd = process.env.ComSpec ?? 'cmd.exe';
    return { name: 'cmd.exe', words: (command) => [cmd, '/d', '/s', '/c', `"${command}"`] };
  }
  const path = ['/bin/bash', '/usr/bin/bash'].find((each) => existsSync(each)) ?? '/bin/sh';
  return {
    name: path.endsWith('bash') ? 'bash' : 'sh',
    words: (command) => ['/bin/sh', '-c', 'exec "$0" -c "$1" 2>&1', path, command],
  };
}

interface Run {
  command: string;
  seconds: number;
  shell: Shell;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

type End =
  | { how: 'exited'; code: number | null; signal: NodeJS.Signals | null }
  | { how: 'timed-out' }
  | { how: 'cancelled' };

async function runCommand(run: Run, context: ToolContext): Promise<ToolOutcome> {
  const { signal } = context;
  signal.throwIfAborted();
  const { execa } = await import('execa');
  const [program, ...words] = run.shell.words(run.command);
  const child = execa(program, words, {
    cwd: run.cwd,
    env: run.env,
    extendEnv: false,
    stdin: 'ignore',
    buffer: false,
    reject: false,
    encoding: 'buffer',
    // A group of its own, so that all of it can be ended; on Windows that would open a window.
    detached: process.platform !== 'win32',
    windowsVerbatimArguments: process.platform === 'win32',
    windowsHide: true,
  });
  const leader = child.pid;
  if (leader === undefined) {
    const { shortMessage } = await child;
    throw problem('command-not-started', { why: String(shortMessage) });
  }
  const untie = tieToProcess(leader);
  const output = new ShellOutput();
  const progress = throttled(context);
  const take = (bytes: Buffer): void => {
    output.push(bytes);
    progress(bytes);
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const closed = child.then(() => {});
  const timer = new AbortController();
  try {
    const end = await Promise.race([
      new Promise<End>((resolve) => child.once('exit', (code, by) => resolve({ how: 'exited', code, signal: by }))),
      delay(timerDelay(run.seconds * 1_000), { how: 'timed-out' } as const, { signal: timer.signal }),
      whenAborted(signal, timer.signal),
    ]);
    // What has ended has written all it will into the pipe; what stays behind may hold it open for ever.
    if (end.how === 'exited') await Promise.race([closed, delay(50, undefined, { signal: timer.signal })]);
    const leftBehind = (await endGroup(leader)) && end.how === 'exited';
    await Promise.race([closed, delay(DRAIN, undefined, { signal: timer.signal })]);
    if (end.how === 'cancelled') signal.throwIfAborted();
    return outcomeOf(end, output.text(), run.seconds, leftBehind);
  } finally {
    timer.abort();
    untie();
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

function outcomeOf(end: End, text: string, seconds: number, leftBehind: boolean): ToolOutcome {
  const notes: string[] = [];
  if (end.how === 'timed-out') notes.push(`timed out after ${seconds} s, all its processes were stopped`);
  else if (end.how === 'exited') notes.push(end.signal ? `ended by ${end.signal}` : `exit code ${end.code}`);
  if (leftBehind) notes.push('processes left in the background were stopped');
  const content = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}[${notes.join('; ')}]`;
  return end.how === 'exited' && end.code === 0 ? { content } : { content, isError: true };
}

async function whenAborted(signal: AbortSignal, over: AbortSignal): Promise<End> {
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true, signal: over });
    over.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) resolve();
  });
  return { how: 'cancelled' };
}

/** The last line of the output for whoever watches, a few times a second. */
function throttled(context: ToolContext): (bytes: Buffer) => void {
  let last = 0;
  return (bytes) => {
    const now = Date.now();
    if (now - last < PROGRESS_EVERY) return;
    const line = bytes.toString('utf8').trimEnd().split('\n').at(-1)?.trim() ?? '';
    if (line === '') return;
    last = now;
    context.progress(line.slice(0, 200).toWellFormed());
  };
}
