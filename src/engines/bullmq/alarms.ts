import { setTimeout as delay } from 'node:timers/promises';
import type { Queue, Job as QueuedJob, Worker } from 'bullmq';
import type { Job } from '../engine.ts';
import { retryDelay } from '../retry.ts';
import type { Connection } from './connection.ts';
import { jobOptions } from './run-queue.ts';

/** Milliseconds that an alarm may ring before it is due. */
const EARLY = 1_000;

/** A session, and when it is to be woken by the clock of Redis: an alarm may be taken early by a worker whose clock is ahead. */
interface Alarm extends Job {
  due?: number | undefined;
}

/** Alarms of parked sessions: one a session, in a queue of their own so that they never wait for a place. */
export class Alarms {
  readonly #connection: Connection;
  readonly #prefix: string;
  readonly #queue: Queue<Alarm>;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#queue = new connection.drivers.bullmq.Queue<Alarm>('alarms', {
      connection: connection.redis,
      prefix,
      streams: { events: { maxLen: 100 } },
    });
    this.#queue.on('error', (error) => connection.fault(error));
  }

  /** Sets the alarm of a session, in place of an earlier one. */
  async set(job: Job, until: number): Promise<void> {
    const options = jobOptions(job.session);
    const pause = Math.max(0, until - Date.now());
    const now = this.#connection.now();
    const alarm: Alarm = { ...job, due: now + pause };
    await this.#queue.add('alarm', alarm, {
      ...options,
      deduplication: { id: job.session, keepLastIfActive: true, replace: true },
      timestamp: now,
      delay: pause,
    });
  }

  async clear(session: string): Promise<void> {
    const id = await this.#queue.getDeduplicationJobId(session);
    // One that rings this moment cannot be removed: its wake is one too many, and harmless.
    if (id) await this.#queue.remove(id);
  }

  /** Rings alarms that are due, with `wake`, until the worker is closed. */
  ring(wake: (job: Job) => Promise<void>): Worker<Alarm> {
    const worker = new this.#connection.drivers.bullmq.Worker<Alarm>(
      'alarms',
      (alarm, token) => this.#ring(alarm, token, wake),
      {
        connection: this.#connection.redis,
        prefix: this.#prefix,
        concurrency: 50,
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        runRetryDelay: 1_000,
        drainDelay: 5,
        lockDuration: 10_000,
        stalledInterval: 5_000,
        settings: { backoffStrategy: retryDelay },
      },
    );
    return worker.on('error', (error) => this.#connection.fault(error));
  }

  async #ring(alarm: QueuedJob<Alarm>, token: string | undefined, wake: (job: Job) => Promise<void>): Promise<void> {
    const { due = 0, session, root, tag } = alarm.data;
    const early = due - this.#connection.now();
    if (early <= EARLY) return wake({ session, root, tag });
    // Put off as it is, it would ring again at once.
    await delay(Math.min(early, EARLY));
    await alarm.moveToDelayed(Date.now() + early - EARLY, token);
    throw new this.#connection.drivers.bullmq.DelayedError();
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }
}
