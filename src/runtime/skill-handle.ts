import { ReasonixError } from '../core/errors.ts';
import type { Usage } from '../core/usage.ts';
import { inputsText } from '../subagents/inputs.ts';
import type { SendOptions } from './options.ts';
import type { RunResult } from './run-report.ts';
import type { Runtime } from './runtime.ts';
import type { SessionHandle } from './session-handle.ts';

export interface SkillRunOptions extends SendOptions {
  /** Earlier runs, or references of this session's tree, whose full answers the child gets. */
  inputs?: readonly (SkillRun | string)[] | undefined;
  /** The session to run in. Default: a new one for each run. */
  session?: SessionHandle | undefined;
}

/** What a skill gave back. */
export interface SkillRun {
  answer: string;
  /** The value of the answer, where the skill has an `output-schema` and the answer fits it. */
  output?: unknown;
  status: RunResult['status'];
  /** Reference of the child session; of an inline skill, the session that ran it. */
  ref: string;
  /** The session it ran in. */
  session: string;
  /** Tokens of the run and everything below it. */
  usage: Usage;
  result: RunResult;
  /** Goes on in the same thread. */
  continue(text: string, options?: SendOptions): Promise<SkillRun>;
}

/** A skill by name, to be run from code through the same door as every other run. */
export class SkillHandle {
  readonly name: string;
  readonly #runtime: Runtime;

  constructor(name: string, runtime: Runtime) {
    this.name = name;
    this.#runtime = runtime;
  }

  /** @throws ReasonixError `skill_refused` when the skill is unknown or refuses; ends of the run are in `status`. */
  async run(task: string, options: SkillRunOptions = {}): Promise<SkillRun> {
    const { inputs = [], session, ...send } = options;
    const handle = session ?? (await this.#runtime.session());
    const inTree = inputs.filter((input): input is string => typeof input === 'string');
    const given = inputs.filter((input): input is SkillRun => typeof input !== 'string');
    const call = { name: this.name, arguments: withAnswers(task, given), inputs_from: inTree };
    return this.#finish(handle, handle.runSkill(call, send).result);
  }

  async #finish(handle: SessionHandle, running: Promise<RunResult>): Promise<SkillRun> {
    const result = await running;
    const child = result.subagents.find(({ parent }) => parent === handle.id);
    if (!child && result.status === 'failed' && result.steps === 0) {
      throw new ReasonixError('skill_refused', result.error ?? `the skill ${this.name} did not start`);
    }
    return {
      answer: result.answer,
      output: result.output,
      status: result.status,
      ref: child?.ref ?? handle.id,
      session: handle.id,
      usage: result.usage.total,
      result,
      continue: (text, options) =>
        this.#finish(
          handle,
          child
            ? handle.runSkill({ name: this.name, arguments: text, continue_from: child.ref }, options).result
            : handle.send(text, options).result,
        ),
    };
  }
}

/** Answers of other trees are the caller's own: they go in as text. */
function withAnswers(task: string, runs: readonly SkillRun[]): string {
  if (runs.length === 0) return task;
  return inputsText(
    task,
    runs.map(({ ref, answer, status, result }) => ({
      reference: ref,
      answer,
      status,
      skill: result.subagents[0]?.skill ?? '',
    })),
  );
}
