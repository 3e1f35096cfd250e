import { Budget } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
import { Parked } from '../core/parked.ts';
import { prompt } from '../core/prompts.ts';
import type { Session } from '../session/session.ts';
import type { OpenTurn } from '../session/thread.ts';
import type { Admission } from './admission.ts';
import { changesText } from './changes-text.ts';
import { limitsOf, limitsOfStarted, spentIn } from './child-budget.ts';
import { failedEnd } from './child-end.ts';
import { type Caller, type EndedChild, endOf, readChild } from './child-log.ts';
import { type ChildRequest, ChildSessions, type ChildSessionsOptions, type ChildStart } from './child-sessions.ts';
import { type Elsewhere, type Handed, handed, logCancelling, termsBelow } from './elsewhere.ts';
import type { LiveSession, LiveSessions } from './live.ts';
import { type Place, type Reservations, reserve, reservedBelow, spentOf, takePlace } from './reservations.ts';
import type { ChildResult } from './result-text.ts';
import { stopWithChild } from './stop-with-child.ts';

export type { ChildRequest } from './child-sessions.ts';

/** What the runtime decides for children. */
export interface RunnerOptions extends ChildSessionsOptions {
  live: LiveSessions;
  admission: Admission;
  /** Absent where every child runs in the process of its caller. */
  elsewhere?: Elsewhere | undefined;
  /** Model calls of a child whose skill sets no limit of its own, and who says so. */
  childSteps: { limit: number; setBy: string };
}

/** A background child that may run: its log is durable, with its task. Or one whose turn ended before a crash. */
export type MadeChild = { reference: string; live: LiveSession } | { reference: string; ended: EndedChild };

/** Runs children: starts, continues, forks and, after a crash, finds them again. */
export class SubagentRunner {
  readonly #options: RunnerOptions;
  readonly #sessions: ChildSessions;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#sessions = new ChildSessions(options);
  }

  /** @throws ReasonixError when the child cannot start; once it runs, every end is a result. */
  async run(request: ChildRequest): Promise<ChildResult> {
    const { parent, call } = request;
    if (request.recovering) await reserve(this.#options.host.store, parent);
    const planned = await this.#sessions.plan(request);
    const place = takePlace(parent, call, await parent.reserved);
    if ('start' in planned) return this.#enter(request, planned.start, place);
    this.#charge(parent, planned.ended, place);
    return this.#settled(planned.ended.result, parent);
  }

  /** Lets a background child in and makes it durable, with its task; `finish` runs it. */
  async prepare(request: ChildRequest): Promise<MadeChild> {
    const { parent, skill } = request;
    const { admission, childSteps, host } = this.#options;
    if (request.recovering) await reserve(host.store, parent);
    const planned = await this.#sessions.plan(request);
    const place = takePlace(parent, request.call, await parent.reserved);
    if ('ended' in planned) return this.#endedBefore(parent, planned.ended, place);
    const { make, cut } = planned.start;
    admission.check(parent, cut !== undefined);
    admission.charge(parent);
    const budget = budgetOf(parent, limitsOf(skill, childSteps), cut, place.below);
    try {
      const { session, input } = await make(budget);
      return await this.#made(session, budget, place, () => (input ? session.begin(input) : session.claim()));
    } catch (error) {
      stopWithChild(parent, error);
      throw error;
    }
  }

  /** As `prepare`, for a child that others run; its reference. */
  async leave(elsewhere: Elsewhere, request: ChildRequest): Promise<string> {
    const { parent, call, recovering } = request;
    if (recovering) await reserve(this.#options.host.store, parent);
    const planned = await this.#sessions.plan(request);
    if ('ended' in planned) return planned.ended.result.reference;
    takePlace(parent, call, await parent.reserved);
    return (await this.#leave(elsewhere, request, planned.start)).session;
  }

  /** The end of a child that others ran beside the turn, as its parent gets it and pays for it. */
  async settle(ended: EndedChild, parent: LiveSession, call: string): Promise<EndedChild> {
    const { isAgain } = takePlace(parent, call, await parent.reserved);
    if (ended.turn) {
      const { tokens, cost, spawns } = spentIn(ended.turn);
      parent.budget.charge({ tokens, cost, spawns: isAgain ? spawns : spawns + 1 });
    }
    return { ...ended, result: await this.#settled(ended.result, parent) };
  }

  /** A background child that was let in before a crash, from its log. */
  async reopen(parent: LiveSession, reference: string, call: string): Promise<MadeChild> {
    const { admission, childSteps, host } = this.#options;
    await reserve(host.store, parent);
    const caller: Caller = { session: parent.session.id, call };
    const { thread, ended, cut } = readChild(reference, await host.store.read(reference), caller);
    const place = takePlace(parent, call, await parent.reserved);
    if (ended) return this.#endedBefore(parent, ended, place);
    if (!cut) throw new ReasonixError('reference_unknown', prompt('reference-unknown', { reference }));
    admission.charge(parent);
    const budget = budgetOf(parent, limitsOfStarted(thread, childSteps), cut, place.below);
    const session = await this.#sessions.open(thread);
    return this.#made(session, budget, place, () => session.claim());
  }

  /** Runs a background child to its end, in a slot of its own; every end is a result. */
  async finish(made: MadeChild, parent: LiveSession, signal: AbortSignal): Promise<EndedChild> {
    const ended = 'ended' in made ? made.ended : await this.#finish(made, parent, signal);
    return { ...ended, result: await this.#settled(ended.result, parent) };
  }

  async #finish(
    made: Extract<MadeChild, { live: LiveSession }>,
    parent: LiveSession,
    signal: AbortSignal,
  ): Promise<EndedChild> {
    const { admission, live } = this.#options;
    const { session, budget } = made.live;
    try {
      // Without a slot it has been told to end, and only writes that down.
      made.live.slot = await admission.enterBeside(signal).catch(() => undefined);
      await session.run(undefined, { budget, signal });
      return endOf(session.thread);
    } catch (error) {
      stopWithChild(parent, error);
      return failedEnd(session.thread, error);
    } finally {
      live.delete(made.reference);
      made.live.slot?.release();
    }
  }

  /**
   * Ends a child that nobody runs, and gives what it has.
   * @throws ReasonixError when it cannot be ended and `parent` is at work: its turn stays open, like the child's.
   */
  async close(parent: Session, reference: string, call: string, reason: string): Promise<EndedChild> {
    const { store } = this.#options.host;
    const caller = this.#options.live.get(parent.id);
    const { thread, ended } = readChild(reference, await store.read(reference), { session: parent.id, call });
    if (ended) return ended;
    try {
      const session = await this.#sessions.open(thread);
      await session.claim();
      try {
        await session.abandonTurn(reason);
        return endOf(session.thread);
      } finally {
        await session.release();
      }
    } catch (error) {
      if (caller) stopWithChild(caller, error);
      if (parent.fatal) throw parent.fatal;
      return failedEnd(thread, error);
    }
  }

  /** Lets go of a child that was made and will not run; with a `reason` its turn is ended, too. */
  async drop(made: MadeChild, reason: string | undefined): Promise<void> {
    if ('ended' in made) return;
    const { session } = made.live;
    this.#options.live.delete(made.reference);
    try {
      if (reason !== undefined) await session.abandonTurn(reason);
    } finally {
      await session.release();
    }
  }

  /** The one way in for children that the parent waits for. */
  async #enter(request: ChildRequest, start: ChildStart, place: Place): Promise<ChildResult> {
    const { admission, live, childSteps, elsewhere } = this.#options;
    const { parent, skill, signal } = request;
    const { make, cut } = start;
    if (elsewhere && runsElsewhere(request, cut)) return this.#handOver(elsewhere, request, start);
    admission.check(parent, cut !== undefined);
    const budget = budgetOf(parent, limitsOf(skill, childSteps), cut, place.below);
    const admitted = await admission.enter(parent, signal, cut !== undefined);
    try {
      const { session, input } = await make(budget);
      live.set(session.id, { session, budget, slot: admitted.slot, reserved: reservedBelow(place) });
      try {
        const turn = await session.run(input, { budget, signal });
        const result = { reference: session.id, skill: skill.name, turn };
        return await this.#settled(result, parent);
      } finally {
        live.delete(session.id);
      }
    } catch (error) {
      stopWithChild(parent, error);
      throw error;
    } finally {
      await admitted.leave();
    }
  }

  /** Leaves a child to others; its end wakes the parent, whose turn is parked meanwhile. */
  async #handOver(elsewhere: Elsewhere, request: ChildRequest, start: ChildStart): Promise<never> {
    await this.#leave(elsewhere, request, start);
    throw new Parked();
  }

  /** Lets a child in, makes it durable with its task, and has others run it. */
  async #leave(elsewhere: Elsewhere, request: ChildRequest, { make, cut, log }: ChildStart): Promise<Handed> {
    const { parent, skill, signal } = request;
    const { admission, childSteps } = this.#options;
    if (cut) admission.charge(parent);
    else await admission.admit(parent, request.call);
    const child = cut && log ? handed(log) : await this.#begun(request, make, limitsOf(skill, childSteps));
    // Whoever has taken the tree over goes on with the child.
    if (parent.session.fatal) throw parent.session.fatal;
    try {
      if (signal.aborted) {
        await logCancelling(parent.session, signal);
        await elsewhere.cancel(child, {
          reason: prompt('parent-ended'),
          upTo: log?.lastSeq ?? Number.MAX_SAFE_INTEGER,
        });
      }
      await elsewhere.start(child);
      return child;
    } catch (error) {
      stopWithChild(parent, error);
      throw error;
    }
  }

  /** A child with its task in its log. */
  async #begun({ parent }: ChildRequest, make: ChildStart['make'], own: ReturnType<typeof limitsOf>): Promise<Handed> {
    try {
      const { session, input } = await make(budgetOf(parent, own, undefined, new Map()));
      try {
        if (input) await session.begin({ ...input, terms: termsBelow(parent, own) });
        return handed(session.thread);
      } finally {
        await session.release();
      }
    } catch (error) {
      stopWithChild(parent, error);
      throw error;
    }
  }

  /** With what a child that has a worktree changed in it. One that was cancelled is not kept waiting for that. */
  async #settled(result: ChildResult, caller: LiveSession): Promise<ChildResult> {
    if (result.turn.status === 'cancelled') return result;
    const changes = await this.#options.isolation.settle(result.reference);
    if (!changes) return result;
    return { ...result, changes: changesText(changes, caller.session.tool('apply_diff') !== undefined) };
  }

  async #made(session: Session, budget: Budget, place: Place, hold: () => Promise<void>): Promise<MadeChild> {
    const { live } = this.#options;
    const child: LiveSession = { session, budget, reserved: reservedBelow(place) };
    live.set(session.id, child);
    try {
      await hold();
      return { reference: session.id, live: child };
    } catch (error) {
      live.delete(session.id);
      await session.release();
      throw error;
    }
  }

  #endedBefore(parent: LiveSession, ended: EndedChild, place: Place): MadeChild {
    this.#charge(parent, ended, place);
    return { reference: ended.result.reference, ended };
  }

  /** Its turn ended before the crash, and its parent's log does not say yet what it cost. */
  #charge(parent: LiveSession, { turn }: EndedChild, { isAgain }: Place): void {
    if (!turn || isAgain) return;
    const { tokens, cost, spawns } = spentIn(turn);
    parent.budget.charge({ tokens, cost, spawns: spawns + 1 });
  }
}

/** A worktree is a folder of one machine: its child, and what that starts, runs where it was made. */
const runsElsewhere = ({ parent, skill }: ChildRequest, cut: OpenTurn | undefined): boolean =>
  parent.session.thread.turn?.terms !== undefined && (cut ? cut.terms !== undefined : skill.isolation !== 'worktree');

/** `cut` is the turn that goes on: what it has used counts again, here and above, and what is kept for its children. */
function budgetOf(
  parent: LiveSession,
  { limits, setBy }: ReturnType<typeof limitsOf>,
  cut: OpenTurn | undefined,
  below: Reservations,
): Budget {
  const budget = new Budget(limits, { parent: parent.budget, setBy, spent: cut && spentIn(cut) });
  budget.charge(spentOf(below));
  return budget;
}
