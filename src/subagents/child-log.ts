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

/** The log of a child, as far as it was read, and in it the turn that `caller` asked for. */
export class ChildLog {
  readonly thread: Thread;
  /** How that turn ended, though others may have gone on with the child since. */
  ended: EndedChild | undefined;
  readonly #caller: Caller;

  constructor(reference: string, caller: Caller) {
    this.thread = new Thread(reference);
    this.#caller = caller;
  }

  /** The turn while it is open. */
  get cut(): OpenTurn | undefined {
    return isFrom(this.thread.turn?.from, this.#caller) ? this.thread.turn : undefined;
  }

  /** Takes in the events that follow. */
  take(events: readonly StoredEvent[]): void {
    for (const event of events) {
      this.thread.apply(event);
      if (event.type !== 'turn.ended' || this.ended) continue;
      if (isFrom(this.thread.ended?.from, this.#caller)) this.ended = endOf(this.thread);
    }
  }
}

/** The state of a child, and the turn that `caller` asked for: how it ended, or what there is of it. */
export function readChild(
  reference: string,
  events: readonly StoredEvent[],
  caller: Caller,
): { thread: Thread; ended: EndedChild | undefined; cut: OpenTurn | undefined } {
  const log = new ChildLog(reference, caller);
  log.take(events);
  const { thread, ended, cut } = log;
  return { thread, ended, cut };
}

/** The turn of a child that ended last. */
export function endOf({ session, started, lastTurn, ended }: Thread): EndedChild {
  if (!lastTurn) throw new Error(`session ${session} has no ended turn`);
  const result = { reference: session, skill: started?.skill?.name ?? '', turn: turnResult(lastTurn, ended) };
  return { result, at: lastTurn.at, turn: ended };
}
