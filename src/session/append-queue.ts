import { ReasonixError } from '../core/errors.ts';
import type { SessionEvent } from '../core/events.ts';

/** Events to append, or what gives them once everything before is in the log. */
export type Wanted = readonly SessionEvent[] | (() => readonly SessionEvent[]);

export interface AppendQueueOptions {
  /** Resolves when all of `events` are in the log; when it rejects, none is. */
  write(events: readonly SessionEvent[]): Promise<void>;
  /** Why nothing can be appended any more. */
  fatal(): unknown;
  /** Hears what could not be written before anything behind it is tried. */
  failed(error: unknown): void;
}

interface Waiting {
  wanted: Wanted;
  resolve(isAppended: boolean): void;
  reject(error: unknown): void;
}

interface Ready {
  events: readonly SessionEvent[];
  waiting: Waiting;
}

/**
 * The appends of one session, in the order of calls. What waits while one is under way goes into the log
 * as one: the calls of a step that run side by side would else wait for the disk one after the other.
 */
export class AppendQueue {
  readonly #options: AppendQueueOptions;
  readonly #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;

  constructor(options: AppendQueueOptions) {
    this.#options = options;
  }

  /** Resolves when the events are in the log; false when there are none. */
  add(wanted: Wanted): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ wanted, resolve, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when nothing waits any more. */
  async settled(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    // Calls that run side by side ask in the same moment.
    await undefined;
    while (this.#waiting.length > 0) await this.#write(this.#takeReady());
    this.#draining = undefined;
  }

  /** Everything up to the next function, which is asked once all before it is in the log. */
  #takeReady(): Ready[] {
    const ready: Ready[] = [];
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (ready.length > 0 && typeof next.wanted === 'function') break;
      this.#waiting.shift();
      const events = this.#eventsOf(next);
      if (events) ready.push({ events, waiting: next });
    }
    return ready;
  }

  /** Nothing for what is answered without an append. */
  #eventsOf({ wanted, resolve, reject }: Waiting): readonly SessionEvent[] | undefined {
    try {
      const fatal = this.#options.fatal();
      if (fatal) throw fatal;
      const events = typeof wanted === 'function' ? wanted() : wanted;
      if (events.length > 0) return events;
      resolve(false);
    } catch (error) {
      reject(error);
    }
    return undefined;
  }

  async #write(ready: readonly Ready[]): Promise<void> {
    if (ready.length === 0) return;
    try {
      const fatal = this.#options.fatal();
      if (fatal) throw fatal;
      await this.#options.write(ready.flatMap(({ events }) => events));
      for (const { waiting } of ready) waiting.resolve(true);
    } catch (error) {
      if (ready.length > 1 && mayBeOfOne(error)) {
        for (const each of ready) await this.#write([each]);
        return;
      }
      this.#options.failed(error);
      for (const { waiting } of ready) waiting.reject(error);
    }
  }
}

/** Without the event that does not validate, or where there is room for some, the others are written. */
const mayBeOfOne = (error: unknown): boolean =>
  ReasonixError.isInstance(error, 'session_invalid') || ReasonixError.isInstance(error, 'store_full');
