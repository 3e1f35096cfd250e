import type { StoredEvent } from '../core/events.ts';

/** What a read from a position gave: the events, and how far the log goes, unreadable rows included. */
export interface Tail {
  events: StoredEvent[];
  lastSeq: number;
}

/** Those who wait for a session's next events, and how they are woken. */
export class Followers {
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #onChange: (count: number) => void;
  #count = 0;
  #closed = false;

  /** `onChange` is told how many follow whenever that changes. */
  constructor(onChange: (count: number) => void = () => {}) {
    this.#onChange = onChange;
  }

  notify(session: string): void {
    for (const waiter of this.#waiters.get(session) ?? []) waiter.wake();
  }

  notifyAll(): void {
    for (const session of this.#waiters.keys()) this.notify(session);
  }

  /** Ends every follower after what it has read so far. */
  close(): void {
    this.#closed = true;
    this.notifyAll();
  }

  /** Events after `fromSeq` as `readTail` gives them, again after each wake-up, until `signal` aborts. */
  async *follow(
    session: string,
    fromSeq: number,
    signal: AbortSignal,
    readTail: (fromSeq: number) => Promise<Tail>,
  ): AsyncGenerator<StoredEvent> {
    const waiter = new Waiter();
    const wake = () => waiter.wake();
    this.#add(session, waiter);
    signal.addEventListener('abort', wake);
    try {
      let position = fromSeq;
      while (!signal.aborted && !this.#closed) {
        const { events, lastSeq } = await readTail(position);
        for (const event of events) {
          if (signal.aborted) return;
          yield event;
        }
        position = Math.max(position, lastSeq);
        if (!signal.aborted && !this.#closed) await waiter.wait();
      }
    } finally {
      signal.removeEventListener('abort', wake);
      this.#remove(session, waiter);
    }
  }

  #add(session: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(session) ?? new Set();
    this.#waiters.set(session, waiters.add(waiter));
    this.#onChange(++this.#count);
  }

  #remove(session: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(session);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(session);
    this.#onChange(--this.#count);
  }
}

/** Remembers a wake-up that comes while nobody waits. */
class Waiter {
  #woken = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#woken = true;
    this.#resolve?.();
  }

  async wait(): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
      this.#resolve = undefined;
    }
    this.#woken = false;
  }
}
