import { randomUUID } from 'node:crypto';
import type { JobsOptions, Queue } from 'bullmq';
import type { Job, JobCounts } from '../engine.ts';
import type { Connection } from './connection.ts';
import { Outstanding } from './outstanding.ts';

/** Entries of the queue's log of what happened, which nobody here reads. */
const KEPT_EVENTS = 100;

export interface RunQueueOptions {
  connection: Connection;
  prefix: string;
  tag: string | undefined;
}

/** The sessions with one tag, or with none, that wait for a run: one job a session, however often it is asked for. */
export class RunQueue {
  readonly queue: Queue<Job>;
  readonly #redis: Connection['redis'];
  readonly #outstanding: Outstanding;

  constructor({ connection, prefix, tag }: RunQueueOptions) {
    const { Queue } = connection.drivers.bullmq;
    this.queue = new Queue<Job>(tag === undefined ? 'runs' : `runs.${encodeURIComponent(tag)}`, {
      connection: connection.redis,
      prefix,
      streams: { events: { maxLen: KEPT_EVENTS } },
    });
    this.queue.on('error', (error) => connection.fault(error));
    this.#redis = connection.redis;
    this.#outstanding = new Outstanding(connection.redis, prefix);
  }

  async add(job: Job): Promise<void> {
    const priority = await this.#outstanding.join(job.root, job.session);
    await this.queue.add('run', job, { ...jobOptions(job.session), priority });
  }

  /** Has a session that was put off run now; one that waits or runs is left alone. */
  async hasten({ session }: Job): Promise<void> {
    const id = await this.queue.getDeduplicationJobId(session);
    const job = id ? await this.queue.getJob(id) : undefined;
    if (!job || !(await job.isDelayed())) return;
    // It may have left that state this very moment.
    await job.promote().catch(async (error: unknown) => {
      if (await job.isDelayed()) throw error;
    });
  }

  async over({ root, session }: Job): Promise<void> {
    await this.#outstanding.leave(root, session, this.queue.toKey(`de:${session}`));
  }

  async isKnown({ session }: Job): Promise<boolean> {
    const id = await this.queue.getDeduplicationJobId(session);
    return id !== null && (await this.#redis.exists(this.queue.toKey(id))) > 0;
  }

  async counts(): Promise<JobCounts> {
    const {
      wait = 0,
      prioritized = 0,
      active = 0,
      delayed = 0,
    } = await this.queue.getJobCounts('wait', 'prioritized', 'active', 'delayed');
    return { waiting: wait + prioritized, active, delayed };
  }

  /** Whether a job was handed to the worker called `name` that is not over. */
  async isHeldBy(name: string): Promise<boolean> {
    return (await this.queue.getActive()).some((job) => job?.processedBy === name);
  }

  /** Tells the queue its settings, which it loses with everything else. `maxRunning` 0: no bound. */
  async configure(maxRunning: number): Promise<void> {
    if (maxRunning > 0) await this.queue.setGlobalConcurrency(maxRunning);
    else await this.queue.removeGlobalConcurrency();
  }
}

/**
 * Jobs are told apart by session, and have ids of their own: after a loss of data numbers would begin anew,
 * and be taken for those of runs that still go on. A failed one is tried without end.
 */
export function jobOptions(session: string): JobsOptions {
  return {
    jobId: randomUUID(),
    deduplication: { id: session, keepLastIfActive: true },
    attempts: Number.MAX_SAFE_INTEGER,
    backoff: { type: 'custom' },
    removeOnComplete: true,
    removeOnFail: true,
    stackTraceLimit: 0,
  };
}
