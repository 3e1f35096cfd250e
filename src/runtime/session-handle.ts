import { Budget } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
import { newCallId } from '../core/ids.ts';
import type { Limits } from '../core/limits.ts';
import type { Engine } from '../engines/engine.ts';
import type { Observation } from '../session/host.ts';
import type { Session } from '../session/session.ts';
import type { TurnInput, TurnResult } from '../session/turn-result.ts';
import { renderInline } from '../skills/render.ts';
import { changedInLibrary } from '../subagents/changed-since.ts';
import { spentIn } from '../subagents/child-budget.ts';
import type { RunSkillInput } from '../tools/skill-service.ts';
import { type Compacted, type CompactOptions, compactNow } from './compact-now.ts';
import { type RootLimits, withinStarted, withOwn } from './limits.ts';
import type { SendOptions } from './options.ts';
import { RunReport, type RunResult } from './run-report.ts';
import type { Wiring } from './runtime.ts';
import { SessionRun } from './session-run.ts';
import { runElsewhere } from './turn-elsewhere.ts';

/** A session of a runtime: send it text, run skills in it, resume what was cut. */
export class SessionHandle {
  readonly id: string;
  readonly #session: Session;
  readonly #wiring: Wiring;

  constructor(session: Session, wiring: Wiring) {
    this.id = session.id;
    this.#session = session;
    this.#wiring = wiring;
  }

  /** True when the last turn was cut before its end; `send` and `resume` finish it first. */
  get isCut(): boolean {
    return this.#session.thread.turn !== undefined;
  }

  /**
   * Sends a message and runs the turn.
   * @example
   * const run = session.send('What does this repository do?');
   * for await (const seen of run) if (seen.kind === 'event') console.log(seen.session, seen.event.type);
   * console.log((await run.result).answer);
   */
  send(text: string, options: SendOptions = {}): SessionRun {
    return this.#run(() => this.#message(text), options);
  }

  /** Finishes a turn that was cut. @throws ReasonixError `usage` when there is none. */
  resume(options: SendOptions = {}): SessionRun {
    return this.#run(async () => undefined, options);
  }

  /**
   * Runs a skill the way `/name arguments` does: an inline skill becomes the message, a sub-agent
   * starts at once, and its answer is the turn's, without a model call of this session.
   */
  runSkill(input: RunSkillInput, options: SendOptions = {}): SessionRun {
    return this.#run(() => this.#skillInput(input), options);
  }

  /**
   * Makes a call the way the session's model would, without asking the model: its result is the turn's.
   * `content` is what the log says was asked for. A skill that only users may start is the caller's to refuse.
   */
  callTool(name: string, input: object, content: string, options: SendOptions = {}): SessionRun {
    const hostCall = { id: newCallId(), name, arguments: JSON.stringify(input) };
    return this.#run(async () => ({ origin: 'user', content, hostCall }), options);
  }

  /** Refuses a skill for the rest of the session; it stays listed, so that the prompt stays the same. */
  async switchSkill(name: string, enabled: boolean): Promise<void> {
    await this.#session.claim();
    try {
      await this.#session.append([{ type: 'skill.switched', name, enabled }]);
    } finally {
      await this.#session.release();
    }
  }

  /**
   * Puts a summary in the place of the older part of the conversation, and says how many tokens it had
   * and has. `undefined` when there is too little to gain.
   * @throws ReasonixError `session_busy` while a turn runs, here or elsewhere; `usage` when the last one was cut.
   */
  async compact({ signal = new AbortController().signal }: CompactOptions = {}): Promise<Compacted | undefined> {
    const session = this.#session;
    const { compactor, live } = this.#wiring;
    if (live.has(session.id)) {
      throw new ReasonixError('session_busy', `session ${session.id} is in the middle of a turn`, {
        hint: 'wait for its end before you compact it',
      });
    }
    await session.claim();
    try {
      return await compactNow(session, compactor, signal);
    } finally {
      await session.release();
    }
  }

  async #message(text: string): Promise<TurnInput> {
    const session = this.#session;
    if (session.info.kind === 'root') return { origin: 'user', content: text };
    const notes = await changedInLibrary(session, await this.#wiring.libraryNow(session.info));
    return { origin: 'continuation', content: [text, ...notes].join('\n\n') };
  }

  async #skillInput(input: RunSkillInput): Promise<TurnInput> {
    const library = await this.#wiring.libraryNow(this.#session.info);
    const lookup = library.find(input.name);
    if (lookup.status === 'found' && !lookup.skill.userInvocable) {
      throw new ReasonixError('skill_refused', `the skill ${input.name} says that users cannot start it`, {
        hint: 'ask for it in a message instead',
      });
    }
    const origin = 'user';
    if (lookup.status === 'found' && lookup.skill.runAs === 'inline') {
      const { skill } = lookup;
      const body = await library.load(skill);
      await this.#wiring.recordUse(skill.name, this.id);
      const content = await renderInline(skill, body.text, input.arguments);
      return { origin, content, events: [{ type: 'skill.loaded', name: skill.name, hash: body.hash, via: 'user' }] };
    }
    const content = `/${input.name} ${input.arguments ?? ''}`.trim();
    return { origin, content, hostCall: { id: newCallId(), name: 'run_skill', arguments: JSON.stringify(input) } };
  }

  #run(input: () => Promise<TurnInput | undefined>, options: SendOptions): SessionRun {
    const subscribe = (listener: (observation: Observation) => void) =>
      this.#wiring.subscribe(this.#session.id, listener);
    return new SessionRun(this.id, this.#turn(input, options), subscribe);
  }

  async #turn(makeInput: () => Promise<TurnInput | undefined>, options: SendOptions): Promise<RunResult> {
    const session = this.#session;
    const { live, isolation, engine, identify } = this.#wiring;
    const report = new RunReport(session.started, identify);
    const stop = this.#wiring.subscribe(session.id, (observation) => report.observe(observation));
    try {
      const input = await makeInput();
      const isCutHere = session.thread.turn !== undefined && session.thread.turn.terms === undefined;
      if (engine && !isCutHere) {
        const turn = await this.#elsewhere(await engine.get(), input, options);
        return report.result(turn, await this.#required());
      }
      const budget = this.#budget(options.limits ?? {});
      live.set(session.id, { session, budget });
      await isolation.ready(session.info);
      const turn = await session.run(input, { budget, signal: options.signal ?? new AbortController().signal });
      if (session.info.kind === 'child') await isolation.settle(session.id);
      return report.result(turn, await this.#required());
    } finally {
      live.delete(session.id);
      stop();
    }
  }

  #elsewhere(engine: Engine, input: TurnInput | undefined, options: SendOptions): Promise<TurnResult> {
    const { store, host, met, allowed, onProblem } = this.#wiring;
    const { limits, setBy } = this.#limits(options.limits ?? {});
    const terms = { limits, setBy, above: [], ...allowed };
    const signal = options.signal ?? new AbortController().signal;
    const watching = { engine, store, met, onProblem, signal, observe: (seen: Observation) => host.observe(seen) };
    return runElsewhere(this.#session, input && { ...input, terms }, watching);
  }

  /** Limits of the call, else of the runtime, and those that a child was started with; spent is what a cut turn used. */
  #budget(own: Limits): Budget {
    const session = this.#session;
    const { thread, info } = session;
    const { limits, setBy } = this.#limits(own);
    return new Budget(limits, { setBy, above: info.depth, spent: thread.turn && spentIn(thread.turn) });
  }

  #limits(own: Limits): RootLimits {
    return withinStarted(withOwn(this.#wiring.limits, own), this.#session.started);
  }

  async #required(): Promise<{ names: string[]; loaded: string[] }> {
    const { names } = await this.#wiring.required(this.#session.info);
    return { names, loaded: names.filter((name) => this.#session.thread.loadedSkills.has(name)) };
  }
}
