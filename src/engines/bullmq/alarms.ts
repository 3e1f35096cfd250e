import type { Queue, Worker } from 'bullmq';
import type { Job } from '../engine.ts';
import { retryDelay } from '../retry.ts';
import type { Connection } from './connection.ts';
import { jobOptions } from './run-queue.ts';

/** Alarms of parked sessions: one a session, in a queue of their own so that they never wait for a place. */
export class Alarms {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #queue: Queue<Job>;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#queue = new connection.drivers.bullmq.Queue<Job>('alarms', {
      connection: connection.redis,
      prefix,
      streams: { events: { maxLen: 100 } },
    });
    this.#queue.on('error', (error) => connection.fault(error));
  }

  /** Sets the alarm of a session, in place of an earlier one. */
  async set(job: Job, until: number): Promise<void> {
    const options = jobOptions(job.session);
    await this.#queue.add('alarm', job, {
      ...options,
      deduplication: { id: job.session, keepLastIfActive: true, replace: true },
      delay: Math.max(0, until - Date.now()),
    });
  }

  async clear(session: string): Promise<void> {
    const id = await this.#queue.getDeduplicationJobId(session);
    // One that rings this moment cannot be removed: its wake is one too many, and harmless.
    if (id) await this.#queue.remove(id);
  }

  /** Rings alarms that are due, with `wake`, until the worker is closed. */
  ring(wake: (job: Job) => Promise<void>): Worker<Job> {
    const worker = new this.#connection.drivers.bullmq.Worker<Job>('alarms', ({ data }) => wake(data), {
      connection: this.#connection.redis,
      prefix: this.#prefix,
      concurrency: 50,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      runRetryDelay: 1_000,
      drainDelay: 5,
      lockDuration: 10_000,
      stalledInterval: 5_000,
      settings: { backoffStrategy: retryDelay },
    });
    return worker.on('error', (error) => this.#connection.fault(error));
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
