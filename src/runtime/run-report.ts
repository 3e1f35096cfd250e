import type { EventOf, StoredEvent } from '../core/events.ts';
import { isModelCall } from '../core/model-call.ts';
import { addCost, addUsage, noUsage, type Usage } from '../core/usage.ts';
import type { Observation } from '../session/host.ts';
import type { TurnResult } from '../session/turn-result.ts';
import { statusText } from '../subagents/result-text.ts';

/** A child session of a run. `usage` is its own: the children of it have entries of their own. */
export interface SubagentReport {
  ref: string;
  parent: string;
  /** The first children have depth 1. */
  depth: number;
  skill: string;
  status: string;
  steps: number;
  usage: Usage;
  /** Absent when a price is not known. */
  cost?: number | undefined;
  /** The limit that ended it. */
  limit?: TurnResult['limit'];
  /** Why it did not complete. */
  reason?: string | undefined;
}

/** What one run did: everything that was logged while it went on. */
export interface RunResult {
  session: string;
  status: TurnResult['status'];
  answer: string;
  /** The value of the answer, where it had to fit an `output-schema` and does. */
  output?: unknown;
  /** Model calls of the session itself. */
  steps: number;
  /** `total` = `own` + the sum over all descendants. */
  usage: { own: Usage; total: Usage };
  /** Of the whole tree; absent when a price is not known. */
  cost?: number | undefined;
  subagents: SubagentReport[];
  required: { names: string[]; loaded: string[]; nudges: number; injected: string[] };
  limit?: TurnResult['limit'];
  /** Why it did not complete. */
  error?: string | undefined;
}

interface Tally {
  steps: number;
  usage: Usage;
  cost: number | undefined;
  status: string;
  end: EventOf<'turn.ended'> | undefined;
  /** It began as a copy, whose answers cost nothing again. */
  isFork: boolean;
}

/** Who a session is, from its first event. */
export type Identify = (session: string) => EventOf<'session.started'> | undefined;

/** Adds up what is observed of one session and its descendants. */
export class RunReport {
  readonly #session: string;
  readonly #depth: number;
  readonly #identify: Identify;
  readonly #tallies = new Map<string, Tally>();
  readonly #children = new Map<string, Pick<SubagentReport, 'parent' | 'depth' | 'skill'>>();
  readonly #injected = new Set<string>();
  #nudges = 0;

  /** `identify` knows the sessions that run right now. */
  constructor(started: EventOf<'session.started'>, identify: Identify) {
    this.#session = started.session;
    this.#depth = started.depth;
    this.#identify = identify;
    this.#tallies.set(started.session, emptyTally());
  }

  observe(observation: Observation): void {
    if (observation.kind !== 'event') return;
    const { session, event } = observation;
    const tally =
      this.#tallies.get(session) ?? this.#join(event.type === 'session.started' ? event : this.#identify(session));
    if (!tally) return;
    this.#count(tally, event);
    if (session !== this.#session) return;
    if (event.type === 'required.nudged') this.#nudges++;
    if (event.type === 'skill.loaded' && (event.via === 'inject' || event.via === 'force'))
      this.#injected.add(event.name);
  }

  result(turn: TurnResult, required: { names: string[]; loaded: string[] }): RunResult {
    const own = this.#tallies.get(this.#session) ?? emptyTally();
    const subagents = [...this.#children].map(([ref, identity]): SubagentReport => {
      const { steps, usage, cost, status, end } = this.#tallies.get(ref) ?? emptyTally();
      return {
        ref,
        ...identity,
        status,
        steps,
        usage,
        ...(cost === undefined ? {} : { cost }),
        ...(end?.limit ? { limit: end.limit } : {}),
        ...(end && end.status !== 'completed' ? { reason: end.reason ?? end.status } : {}),
      };
    });
    const all = [own, ...subagents];
    const cost = all.reduce<number | undefined>((sum, { cost: part }) => addCost(sum, part), 0);
    return {
      session: this.#session,
      status: turn.status,
      answer: turn.answer,
      ...(turn.structured ? { output: JSON.parse(turn.answer) as unknown } : {}),
      steps: own.steps,
      usage: { own: own.usage, total: all.reduce((sum, { usage }) => addUsage(sum, usage), noUsage()) },
      ...(cost === undefined ? {} : { cost }),
      subagents,
      required: { ...required, nudges: this.#nudges, injected: [...this.#injected] },
      ...(turn.limit ? { limit: turn.limit } : {}),
      ...(turn.status === 'completed' ? {} : { error: turn.reason ?? turn.status }),
    };
  }

  /** Takes in a session whose parent belongs to the run; after a crash that one may have logged nothing here yet. */
  #join(started: EventOf<'session.started'> | undefined): Tally | undefined {
    if (!started?.parent) return undefined;
    const { session: above } = started.parent;
    if (!this.#tallies.has(above) && !this.#join(this.#identify(above))) return undefined;
    const { session, parent, depth, skill } = started;
    const tally = { ...emptyTally(), isFork: started.forkedFrom !== undefined };
    this.#children.set(session, { parent: parent.session, depth: depth - this.#depth, skill: skill?.name ?? '' });
    this.#tallies.set(session, tally);
    return tally;
  }

  #count(tally: Tally, event: StoredEvent): void {
    if (event.type === 'turn.ended') {
      tally.status = statusText(event);
      tally.end = event;
    }
    if (event.type === 'user.message' && event.origin !== 'nudge' && event.origin !== 'notice') {
      tally.status = 'running';
      tally.end = undefined;
    }
    if (event.type === 'context.compacted' && event.usage) {
      tally.usage = addUsage(tally.usage, event.usage);
      tally.cost = addCost(tally.cost, event.cost);
    }
    if (event.type !== 'assistant.message' || !isModelCall(event, tally.isFork)) return;
    tally.steps++;
    tally.usage = addUsage(tally.usage, event.usage);
    tally.cost = addCost(tally.cost, event.cost);
  }
}

const emptyTally = (): Tally => ({
  steps: 0,
  usage: noUsage(),
  cost: 0,
  status: 'running',
  end: undefined,
  isFork: false,
});
