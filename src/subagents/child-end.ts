import { describeError } from '../core/errors.ts';
import type { EventOf, SessionEvent } from '../core/events.ts';
import type { Thread } from '../session/thread.ts';
import { turnResult } from '../session/turn-result.ts';
import type { EndedChild } from './child-log.ts';
import type { ChildResult } from './result-text.ts';

/** The end of a child whose log could not take it: what it has so far, and why. */
export function failedEnd(thread: Thread, error: unknown): EndedChild {
  const answer = thread.turn?.lastText ?? '';
  const turn = turnResult({ status: 'failed', answer, reason: describeError(error) }, thread.turn);
  const skill = thread.started?.skill?.name ?? '';
  return { result: { reference: thread.session, skill, turn }, at: new Date().toISOString(), turn: thread.turn };
}

/** What the call costs the parent: logged once, together with the call's result. */
export function usageEvent(call: string, { reference, turn }: ChildResult): EventOf<'usage'> {
  const { usage, cost, steps, childSteps, spawns } = turn;
  const event: EventOf<'usage'> = {
    type: 'usage',
    call,
    child: reference,
    usage: usage.total,
    steps: steps + childSteps,
    spawns: spawns + 1,
  };
  return cost.total === undefined ? event : { ...event, cost: cost.total };
}

/** What the log keeps of an end beside the text of the result. */
export const endEvents = (call: string, { result }: EndedChild): SessionEvent[] => [
  usageEvent(call, result),
  { type: 'subagent.ended', call, child: result.reference, status: result.turn.status },
];
