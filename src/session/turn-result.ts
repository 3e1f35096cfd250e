import type { EventOf, SessionEvent, TurnStatus } from '../core/events.ts';
import type { ToolCall } from '../core/messages.ts';
import { addCost, addUsage, noUsage, type Usage } from '../core/usage.ts';
import type { TurnEnd } from './loop.ts';
import type { OpenTurn } from './thread.ts';

/** What a process needs to know to run a turn that another one has begun. */
export type Terms = NonNullable<EventOf<'user.message'>['terms']>;

export interface TurnInput {
  origin: 'user' | 'task' | 'continuation';
  content: string;
  from?: { session: string; call: string } | undefined;
  /** Holds in this turn on top of what the session was started with. */
  permissions?: EventOf<'user.message'>['permissions'];
  /** Events logged with the message, such as a skill that it loads. */
  events?: readonly SessionEvent[] | undefined;
  /** A call made by the host instead of the model; its answer is the turn's. */
  hostCall?: ToolCall | undefined;
  /** For a turn that other processes may run. */
  terms?: Terms | undefined;
}

export interface TurnResult {
  status: TurnStatus;
  answer: string;
  reason?: string | undefined;
  limit?: EventOf<'turn.ended'>['limit'];
  /** The answer is JSON that fits the session's `outputSchema`. */
  structured?: boolean | undefined;
  /** Model calls of this session in the turn. */
  steps: number;
  /** Own usage, and with that of all children. Costs are undefined when a price is unknown. */
  usage: { own: Usage; total: Usage };
  cost: { own: number | undefined; total: number | undefined };
  /** Steps and children started, at all levels below. */
  childSteps: number;
  spawns: number;
}

/** The result of a turn from how it ended and what was counted in it. */
export function turnResult(end: TurnEnd, turn: OpenTurn | undefined): TurnResult {
  const own = turn?.usage ?? noUsage();
  return {
    status: end.status,
    answer: end.answer,
    reason: end.reason,
    limit: end.limit,
    structured: end.structured,
    steps: turn?.steps ?? 0,
    usage: { own, total: addUsage(own, turn?.childUsage ?? noUsage()) },
    cost: { own: turn?.cost, total: addCost(turn?.cost, turn?.childCost) },
    childSteps: turn?.childSteps ?? 0,
    spawns: turn?.spawns ?? 0,
  };
}
