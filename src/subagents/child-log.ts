import type { StoredEvent } from '../core/events.ts';
import { type OpenTurn, Thread } from '../session/thread.ts';
import { turnResult } from '../session/turn-result.ts';
import type { ChildResult } from './result-text.ts';

/** The call that a child works for. */
export interface Caller {
  session: string;
  call: string;
}

/** A child whose turn has ended; `at` is when, ISO 8601. */
export interface EndedChild {
  result: ChildResult;
  at: string;
  /** What the turn used. */
  turn: OpenTurn | undefined;
}

export const isFrom = (from: Caller | undefined, { session, call }: Caller): boolean =>
  from?.session === session && from.call === call;

/**
 * The state of a child, and the turn that `caller` asked for: how it ended, though others may have gone on
 * with the child since, or what there is of it.
 */
export function readChild(
  reference: string,
  events: readonly StoredEvent[],
  caller: Caller,
): { thread: Thread; ended: EndedChild | undefined; cut: OpenTurn | undefined } {
  const thread = new Thread(reference);
  let ended: EndedChild | undefined;
  for (const event of events) {
    thread.apply(event);
    if (event.type === 'turn.ended' && !ended && isFrom(thread.ended?.from, caller)) ended = endOf(thread);
  }
  return { thread, ended, cut: isFrom(thread.turn?.from, caller) ? thread.turn : undefined };
}

/** The turn of a child that ended last. */
export function endOf({ session, started, lastTurn, ended }: Thread): EndedChild {
  if (!lastTurn) throw new Error(`session ${session} has no ended turn`);
  const result = { reference: session, skill: started?.skill?.name ?? '', turn: turnResult(lastTurn, ended) };
  return { result, at: lastTurn.at, turn: ended };
}
