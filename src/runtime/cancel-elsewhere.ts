import { ReasonixError } from '../core/errors.ts';
import type { EventOf, SessionEvent } from '../core/events.ts';
import { prompt } from '../core/prompts.ts';
import { closingResults } from '../session/open-calls.ts';
import type { Thread } from '../session/thread.ts';
import type { SessionStore, SessionSummary } from '../store/contract.ts';

/** How a turn ends that nobody runs. */
export type TurnStop = Pick<EventOf<'turn.ended'>, 'status' | 'reason' | 'limit'>;

/**
 * Logs that turns are to end where nobody runs them: an engine may forget a request, and a worker that
 * comes a day later must not take up what was cancelled.
 */
export class CancelInLogs {
  readonly #store: SessionStore;
  readonly #thread: Thread;
  readonly #told = new Set<string>();

  constructor(store: SessionStore, thread: Thread) {
    this.#store = store;
    this.#thread = thread;
  }

  /** `below` are the open sessions below the thread's. */
  async request(reason: string, below: readonly SessionSummary[]): Promise<void> {
    const event: SessionEvent = { type: 'turn.cancelling', reason };
    const { session, lastSeq, turn } = this.#thread;
    if (turn && turn.cancelling === undefined) await this.#append(session, lastSeq, [event]);
    for (const each of below) {
      if (each.holder !== undefined || this.#told.has(each.session)) continue;
      if (await this.#append(each.session, each.lastSeq, [event])) this.#told.add(each.session);
    }
  }

  /** Ends the turn itself, unless somebody runs it or it has children, which end first. */
  async end(how: TurnStop): Promise<void> {
    const { session, lastSeq, turn, background } = this.#thread;
    if (!turn || background.size > 0) return;
    const closed = closingResults(this.#thread, prompt('interrupted-call'));
    await this.#append(session, lastSeq, [...closed, { type: 'turn.ended', answer: turn.lastText, ...how }]);
  }

  /** False when somebody holds the session, or has logged something that is not known here. */
  async #append(session: string, lastSeq: number, events: readonly SessionEvent[]): Promise<boolean> {
    try {
      await this.#store.append(session, lastSeq, events);
      return true;
    } catch (error) {
      if (ReasonixError.isInstance(error, 'session_busy')) return false;
      throw error;
    }
  }
}
