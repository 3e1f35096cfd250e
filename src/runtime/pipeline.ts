import { describeError } from '../core/errors.ts';
import type { SkillHandle, SkillRun, SkillRunOptions } from './skill-handle.ts';

/** A task for a skill. */
export interface ChainStep extends SkillRunOptions {
  skill: SkillHandle;
  task: string;
}

/** What one of several runs came to: a run that did not complete is a failed one, with what it has. */
export type FanOutResult =
  | { ok: true; task: string; run: SkillRun }
  | { ok: false; task: string; error: string; run?: SkillRun | undefined };

export interface FanOutOptions extends Omit<SkillRunOptions, 'session'> {
  /** Runs at once. Default 6; the runtime's own limit of sub-agents holds as well. */
  concurrency?: number | undefined;
}

/** How `until` ended. */
export interface UntilResult {
  run: SkillRun;
  /** Times that the run was continued. */
  rounds: number;
  /** False when the rounds were used up, or a round did not complete. */
  satisfied: boolean;
}

/**
 * Runs steps one after the other; each gets the answer of the one before as an input. Ends with the
 * first run that does not complete: the last of the runs then says why.
 * @throws ReasonixError `skill_refused` when a skill does not start.
 */
export async function chain(steps: readonly ChainStep[]): Promise<SkillRun[]> {
  const runs: SkillRun[] = [];
  for (const { skill, task, inputs = [], ...options } of steps) {
    const before = runs.at(-1);
    const run = await skill.run(task, { ...options, inputs: before ? [before, ...inputs] : inputs });
    runs.push(run);
    if (run.status !== 'completed') break;
  }
  return runs;
}

/**
 * Runs a skill once for each task, several at once, and gives the results in the order of the tasks.
 * Never throws for a run: one that fails is one failed result.
 */
export async function fanOut(
  skill: SkillHandle,
  tasks: readonly string[],
  { concurrency = 6, ...options }: FanOutOptions = {},
): Promise<FanOutResult[]> {
  const { default: PQueue } = await import('p-queue');
  const queue = new PQueue({ concurrency });
  const attempt = async (task: string): Promise<FanOutResult> => {
    try {
      options.signal?.throwIfAborted();
      const run = await skill.run(task, options);
      if (run.status === 'completed') return { ok: true, task, run };
      return { ok: false, task, error: run.result.error ?? run.status, run };
    } catch (error) {
      return { ok: false, task, error: describeError(error) };
    }
  };
  return Promise.all(tasks.map((task) => queue.add(() => attempt(task))));
}

/**
 * Continues a run until `next` is satisfied: it looks at the newest answer and gives what to say next, or
 * nothing when there is nothing left to say.
 * @example
 * const { run, satisfied } = await until(draft, (run) => (run.answer.includes('Sources:') ? undefined : 'Name your sources.'));
 */
export async function until(
  run: SkillRun,
  next: (run: SkillRun, round: number) => string | undefined | Promise<string | undefined>,
  { rounds: most = 5, ...options }: { rounds?: number | undefined; signal?: AbortSignal | undefined } = {},
): Promise<UntilResult> {
  let newest = run;
  for (let rounds = 0; ; rounds++) {
    if (newest.status !== 'completed') return { run: newest, rounds, satisfied: false };
    const text = await next(newest, rounds);
    if (text === undefined) return { run: newest, rounds, satisfied: true };
    if (rounds >= most) return { run: newest, rounds, satisfied: false };
    newest = await newest.continue(text, options);
  }
}
