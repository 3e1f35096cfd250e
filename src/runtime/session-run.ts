import type { Observation } from '../session/host.ts';
import type { RunResult } from './run-report.ts';

/**
 * A turn that is running. Iterate it to watch, await `result` for the end; both are optional, and
 * leaving the iteration early does not stop the turn: abort the signal for that.
 */
export class SessionRun implements AsyncIterable<Observation> {
  /** The id of the session, known before the first event. */
  readonly session: string;
  /** How the turn ended. Rejects only when the log could not be written or the session is busy. */
  readonly result: Promise<RunResult>;
  readonly #subscribe: (listener: (observation: Observation) => void) => () => void;

  constructor(
    session: string,
    result: Promise<RunResult>,
    subscribe: (listener: (observation: Observation) => void) => () => void,
  ) {
    this.session = session;
    this.result = result;
    this.#subscribe = subscribe;
    // Whoever only iterates gets the error there; it must not count as unhandled.
    result.catch(() => {});
  }

  /** Everything that happens in the session and below it from now on, until the turn has ended. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Observation, void, void> {
    const queue: Observation[] = [];
    let wake = () => {};
    const unsubscribe = this.#subscribe((observation) => {
      queue.push(observation);
      wake();
    });
    let ended = false;
    const end = () => {
      ended = true;
      wake();
    };
    this.result.then(end, end);
    try {
      for (;;) {
        const next = queue.shift();
        if (next) yield next;
        else if (ended) break;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
      await this.result;
    } finally {
      unsubscribe();
    }
  }
}
