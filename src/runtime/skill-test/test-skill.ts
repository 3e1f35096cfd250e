import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { ReasonixError } from '../../core/errors.ts';
import type { Limits } from '../../core/limits.ts';
import { totalTokens } from '../../core/usage.ts';
import type { Skill } from '../../skills/types.ts';
import type { RunResult } from '../run-report.ts';
import type { Runtime } from '../runtime.ts';
import type { EvalCase } from './evals.ts';
import { type Grade, grade } from './grade.ts';
import { makeTestFolder, makeWorkFolder } from './work-folder.ts';

/** Runs at the same time. */
const CONCURRENCY = 4;

export type Variant = 'with' | 'without';

/** One run of a case, graded. */
export interface CaseRun extends Grade {
  status: RunResult['status'];
  answer: string;
  /** Of the run and everything below it. */
  tokens: number;
  /** Milliseconds. */
  ms: number;
  session: string;
  /** Why it did not complete. */
  error?: string | undefined;
}

export interface CaseReport {
  id: string;
  prompt: string;
  expectedOutput?: string | undefined;
  with: CaseRun;
  without?: CaseRun | undefined;
}

/** Counts are of the runs with the skill. */
export interface SkillTestReport {
  skill: string;
  cases: CaseReport[];
  passed: number;
  failed: number;
  /** Cases that only a person can judge. */
  notGraded: number;
}

export interface SkillTestOptions {
  skill: Skill;
  cases: readonly EvalCase[];
  /** A runtime that has the skill, and for the comparison one that has not. */
  runtimes: { with: Runtime; without?: Runtime | undefined };
  /** Of each run. */
  limits?: Limits | undefined;
  signal: AbortSignal;
  /** Told of each run that is over, while its work folder is still there. */
  onRun?: ((run: FinishedRun) => void | Promise<void>) | undefined;
}

export interface FinishedRun {
  case: EvalCase;
  variant: Variant;
  run: CaseRun;
  folder: string;
  /** Runs that are over, this one included, and all of them. */
  done: number;
  total: number;
}

/**
 * Runs every case in a folder of its own, with the skill and without it, and grades what came back.
 * @throws ReasonixError `cancelled` when the signal aborts; what keeps all runs from starting, such as `model_not_found`.
 */
export async function testSkill(options: SkillTestOptions): Promise<SkillTestReport> {
  const { skill, cases, runtimes, signal } = options;
  const folder = await makeTestFolder();
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const variants: Variant[] = runtimes.without ? ['with', 'without'] : ['with'];
  const total = cases.length * variants.length;
  let done = 0;
  const runs = new Map<string, CaseRun>();
  try {
    const queue = new PQueue({ concurrency: CONCURRENCY });
    const tasks = cases.flatMap((each, index) =>
      variants.map((variant) => async () => {
        either.throwIfAborted();
        const path = join(folder.path, `${index + 1}-${variant}`);
        const work = await makeWorkFolder(join(path, 'work'), each.files, skill.folder);
        const run = await runCase(each, variant, { ...options, signal: either, path, work });
        runs.set(`${index} ${variant}`, run);
        done++;
        await options.onRun?.({ case: each, variant, run, folder: work, done, total });
      }),
    );
    const all = tasks.map((task) => queue.add(task));
    const results = await Promise.allSettled(
      all.map((each) =>
        each.catch((error: unknown) => {
          // The first fault stops the others; its reason is the one to tell.
          if (!stop.signal.aborted) stop.abort(error);
          throw error;
        }),
      ),
    );
    if (signal.aborted) throw cancelled(signal, done, total);
    if (results.some(({ status }) => status === 'rejected')) throw stop.signal.reason;
  } finally {
    await folder.remove();
  }
  return report(skill, cases, runs);
}

interface RunContext extends SkillTestOptions {
  path: string;
  work: string;
}

async function runCase(each: EvalCase, variant: Variant, context: RunContext): Promise<CaseRun> {
  const { skill, runtimes, limits, signal, path, work } = context;
  const runtime = variant === 'with' ? runtimes.with : (runtimes.without ?? runtimes.with);
  const session = await runtime.session({ cwd: work });
  const start = performance.now();
  const running =
    variant === 'with'
      ? session.runSkill({ name: skill.name, arguments: each.prompt }, { limits, signal })
      : session.send(each.prompt, { limits, signal });
  const outcome = await running.result.then(ofResult, refusal);
  signal.throwIfAborted();
  const ms = Math.round(performance.now() - start);
  const answerFile = join(path, 'answer.md');
  await writeFile(answerFile, outcome.answer);
  const subject = { answer: outcome.answer, cwd: work, skillFolder: skill.folder, answerFile, signal };
  const graded = await grade(each.assertions, subject, outcome);
  return { ...graded, ...outcome, ms, session: session.id };
}

type Outcome = Pick<CaseRun, 'status' | 'answer' | 'tokens' | 'error'>;

const ofResult = ({ status, answer, usage, error }: RunResult): Outcome => ({
  status,
  answer,
  tokens: totalTokens(usage.total),
  error,
});

/** A skill that refuses to run is a case that failed; anything else is no fault of the skill. */
function refusal(error: unknown): Outcome {
  if (!ReasonixError.isInstance(error) || !error.code.startsWith('skill_')) throw error;
  return { status: 'failed', answer: '', tokens: 0, error: error.message };
}

function report(skill: Skill, cases: readonly EvalCase[], runs: ReadonlyMap<string, CaseRun>): SkillTestReport {
  const reports = cases.map(({ id, prompt, expectedOutput }, index): CaseReport => {
    const [own, without] = [runs.get(`${index} with`), runs.get(`${index} without`)];
    if (!own) throw new Error(`case ${id} was not run`);
    return { id, prompt, expectedOutput, with: own, without };
  });
  const count = (passed: boolean | null): number => reports.filter((each) => each.with.passed === passed).length;
  return { skill: skill.name, cases: reports, passed: count(true), failed: count(false), notGraded: count(null) };
}

function cancelled(signal: AbortSignal, done: number, total: number): ReasonixError {
  return new ReasonixError('cancelled', `the test was stopped after ${done} of ${total} runs`, {
    cause: signal.reason,
  });
}
