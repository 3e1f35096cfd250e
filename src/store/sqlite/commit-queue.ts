import { setTimeout as delay } from 'node:timers/promises';
import { storeClosed } from '../errors.ts';
import type { Database } from './driver.ts';
import { faultOf } from './faults.ts';

interface Write {
  work: () => unknown;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

type Outcome = { write: Write; value: unknown } | { write: Write; error: unknown };

/** How long SQLite itself waits for a lock, in milliseconds; beyond that we wait without blocking the process. */
export const LOCK_WAIT = 25;

/**
 * Group commit: writes asked for in one turn of the event loop share one transaction, and so one
 * `fsync`. Each still succeeds or fails on its own, and they run in the order they were asked for.
 */
export class CommitQueue {
  readonly #db: Database;
  readonly #busyTimeout: number;
  #waiting: Write[] = [];
  #draining: Promise<void> | undefined;
  #closed = false;
  #wrote = false;

  /** `busyTimeout` is how long a write waits for other processes, in milliseconds. */
  constructor(db: Database, busyTimeout: number) {
    this.#db = db;
    this.#busyTimeout = busyTimeout;
  }

  /** Runs `work` inside a transaction; resolves with its value once that is durable. `work` may run more than once. */
  write<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(storeClosed());
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Whether anything was committed. */
  get wrote(): boolean {
    return this.#wrote;
  }

  /** Takes no more writes and waits for those that were asked for. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate);
      try {
        await retryWhileBusy(() => this.#db.exec('begin immediate'), this.#busyTimeout);
      } catch (error) {
        for (const write of this.#waiting.splice(0)) write.reject(error);
        continue;
      }
      const outcomes = this.#commit(this.#waiting.splice(0));
      for (const outcome of outcomes) {
        if ('error' in outcome) outcome.write.reject(outcome.error);
        else outcome.write.resolve(outcome.value as never);
      }
    }
    this.#draining = undefined;
  }

  /** Runs `writes` in the transaction that has begun. When the file gives out, each gets one of its own. */
  #commit(writes: readonly Write[]): Outcome[] {
    try {
      const outcomes = writes.map((write) => this.#attempt(write, writes.length > 1));
      this.#db.exec('commit');
      this.#wrote = true;
      return outcomes;
    } catch (error) {
      this.#rollback();
      if (writes.length === 1) return writes.map((write) => ({ write, error }));
    }
    return writes.flatMap((write) => {
      try {
        this.#db.exec('begin immediate');
      } catch (error) {
        return { write, error };
      }
      return this.#commit([write]);
    });
  }

  /** @throws when the file is at fault, after which nothing of the transaction can be relied on. */
  #attempt(write: Write, guarded: boolean): Outcome {
    if (guarded) this.#db.exec('savepoint one');
    try {
      const outcome = { write, value: write.work() };
      if (guarded) this.#db.exec('release one');
      return outcome;
    } catch (error) {
      if (faultOf(error) !== undefined || !guarded) throw error;
      this.#db.exec('rollback to one; release one');
      return { write, error };
    }
  }

  #rollback(): void {
    try {
      this.#db.exec('rollback');
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }
}

/** Calls `work` until it meets no lock, for at most `timeout` milliseconds. Other work of the process goes on. */
export async function retryWhileBusy<T>(work: () => T, timeout: number): Promise<T> {
  const deadline = performance.now() + timeout;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (faultOf(error) !== 'busy' || performance.now() >= deadline) throw error;
    }
    await delay(1 + Math.random() * 10);
  }
}
