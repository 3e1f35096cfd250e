import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job as QueuedJob, Worker } from 'bullmq';
import { messageOf } from '../../core/errors.ts';
import { CancelInbox } from '../cancel-inbox.ts';
import type { Cancel, Claim, ClaimOptions, Job, Outcome, Run } from '../engine.ts';
import { BUSY_DELAY, failedRun, retryDelay, unfitDelay } from '../retry.ts';
import type { Alarms } from './alarms.ts';
import type { CancelListener, Cancels } from './cancels.ts';
import type { Connection } from './connection.ts';
import type { RunQueue } from './run-queue.ts';

/** How often to look whether everything is done, while somebody waits for that, in milliseconds. */
const DRAIN_POLL = 200;

/** How long closing waits for the answers of Redis when no run is left, in milliseconds. */
const FAREWELL = 2_000;

export interface QueueClaimParts {
  connection: Connection;
  prefix: string;
  queues: readonly RunQueue[];
  alarms: Alarms;
  cancels: Cancels;
  lockDuration: number;
  stalledInterval: number;
  maxRunning: number;
  wake(job: Job): Promise<void>;
  closed(): void;
}

/** One worker for each queue, which share the places of this claim. */
export class QueueClaim implements Claim, CancelListener {
  readonly #name = randomUUID();
  readonly #parts: QueueClaimParts;
  readonly #run: Run;
  readonly #options: ClaimOptions & { onProblem: (text: string) => void };
  readonly #workers: readonly Worker<Job, Outcome>[];
  readonly #alarmWorker: Worker<Job>;
  readonly #leaving = new AbortController();
  readonly #inboxes = new Map<string, CancelInbox>();
  readonly #runs = new Set<Promise<unknown>>();
  readonly #afterwards = new Set<Promise<unknown>>();
  readonly #stopListening: () => void;
  readonly #check: NodeJS.Timeout;
  #closing: Promise<void> | undefined;

  constructor(parts: QueueClaimParts, run: Run, options: ClaimOptions & { onProblem: (text: string) => void }) {
    this.#parts = parts;
    this.#run = run;
    this.#options = options;
    this.#stopListening = parts.cancels.listen(this);
    this.#configure(true);
    this.#check = setInterval(() => this.#configure(false), parts.stalledInterval);
    this.#workers = parts.queues.map((queue) => this.#worker(queue));
    this.#alarmWorker = parts.alarms.ring(parts.wake);
  }

  get running(): number {
    return this.#inboxes.size;
  }

  onCancel(session: string, cancel: Cancel): void {
    this.#inboxes.get(session)?.deliver(cancel);
  }

  onGap(): void {
    for (const [session, inbox] of this.#inboxes) {
      this.#parts.cancels.stored(session).then(
        (cancels) => cancels.forEach((cancel) => void inbox.deliver(cancel)),
        (error: unknown) => this.#parts.connection.fault(error),
      );
    }
  }

  async drained(): Promise<void> {
    const { signal } = this.#leaving;
    if (signal.aborted) return;
    const left = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await Promise.race([left, this.#watch(signal)]);
  }

  close(grace?: number): Promise<void> {
    this.#closing ??= this.#end(grace);
    return this.#closing;
  }

  #worker(queue: RunQueue): Worker<Job, Outcome> {
    const { connection, prefix, lockDuration, stalledInterval } = this.#parts;
    const worker = new connection.drivers.bullmq.Worker<Job, Outcome>(
      queue.queue.name,
      (job, token) => this.#process(job, token),
      {
        connection: connection.redis,
        prefix,
        name: this.#name,
        concurrency: this.#options.concurrency,
        lockDuration,
        stalledInterval,
        // A session whose workers die is never given up: its log stays open.
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        runRetryDelay: 1_000,
        // In seconds. A place that becomes free under the bound over all workers is not always announced.
        drainDelay: 1,
        settings: { backoffStrategy: retryDelay },
      },
    );
    worker.on('error', (error) => connection.fault(error));
    worker.on('completed', (job) => {
      const after = queue.over(job.data).catch((error: unknown) => connection.fault(error));
      this.#afterwards.add(after);
      void after.then(() => this.#afterwards.delete(after));
    });
    return worker;
  }

  async #process(job: QueuedJob<Job>, token: string | undefined): Promise<Outcome> {
    const { session } = job.data;
    if (this.#leaving.signal.aborted) return this.#putOff(job, token, 0);
    if (this.running >= this.#options.concurrency) {
      await this.#pause();
      return this.#putOff(job, token, 0);
    }
    // The queue lost its lock on a run that goes on here, or everything that it knew.
    if (this.#inboxes.has(session)) return this.#putOff(job, token, BUSY_DELAY);
    const inbox = new CancelInbox();
    this.#inboxes.set(session, inbox);
    const run = this.#runOnce(job, inbox);
    const settled = run.catch(() => {});
    this.#runs.add(settled);
    let outcome: Outcome;
    try {
      outcome = await run;
    } finally {
      this.#inboxes.delete(session);
      this.#runs.delete(settled);
      await this.#resume();
    }
    if (outcome === 'busy') return this.#putOff(job, token, this.#leaving.signal.aborted ? 0 : BUSY_DELAY);
    if (outcome === 'unfit') return this.#putOff(job, token, unfitDelay(job.attemptsStarted));
    return outcome;
  }

  async #runOnce(job: QueuedJob<Job>, inbox: CancelInbox): Promise<Outcome> {
    const { session } = job.data;
    try {
      for (const cancel of await this.#parts.cancels.stored(session)) inbox.deliver(cancel);
      const control = {
        onCancel: (listener: (cancel: Cancel) => void) => inbox.listen(listener),
        leaving: this.#leaving.signal,
      };
      const outcome = await this.#run(job.data, control);
      if (outcome === 'ended') await this.#parts.alarms.clear(session);
      return outcome;
    } catch (error) {
      const message = messageOf(error);
      this.#options.onProblem(failedRun(session, job.attemptsMade + 1, message));
      // A plain error: some of the queue's own mean that the job is never tried again.
      throw new Error(message);
    }
  }

  /** Gives a job back; it is taken again after `pause` milliseconds, by whoever has a place. */
  async #putOff(job: QueuedJob<Job>, token: string | undefined, pause: number): Promise<never> {
    await job.moveToDelayed(Date.now() + pause, token);
    throw new this.#parts.connection.drivers.bullmq.DelayedError();
  }

  /** With one queue the worker itself keeps to the places; several share them, and rest while none is free. */
  async #pause(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.pause(true)));
    if (this.running < this.#options.concurrency) await this.#resume();
  }

  async #resume(): Promise<void> {
    if (this.#closing) return;
    const resting = this.#workers.filter((worker) => worker.isPaused());
    await Promise.all(resting.map((worker) => worker.resume()));
  }

  /** Tells the queues their settings when they may have lost them. */
  #configure(isFirst: boolean): void {
    const { connection, queues, maxRunning } = this.#parts;
    const configure = async () => {
      const keeps = await connection.keepsData();
      if (isFirst || !keeps) await Promise.all(queues.map((queue) => queue.configure(maxRunning)));
    };
    configure().catch((error: unknown) => connection.fault(error));
  }

  async #watch(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const isDone = await this.#isDrained().catch((error: unknown) => this.#parts.connection.fault(error));
      if (isDone) return;
      await delay(DRAIN_POLL);
    }
  }

  async #isDrained(): Promise<boolean> {
    if (this.running > 0) return false;
    for (const queue of this.#parts.queues) {
      const { waiting, delayed, active } = await queue.counts();
      if (waiting > 0 || delayed > 0) return false;
      // One that was handed to us a moment ago is on its way here, or its end on the way there.
      if (active > 0 && (await queue.isHeldBy(this.#name))) return false;
    }
    return this.running === 0;
  }

  async #end(grace: number | undefined): Promise<void> {
    clearInterval(this.#check);
    this.#leaving.abort();
    await Promise.all(this.#workers.map((worker) => worker.pause(true)));
    const isIdle = await within(grace, Promise.all(this.#runs));
    const { connection } = this.#parts;
    // Without Redis a worker would wait for the answer to its last word.
    const force = !isIdle || connection.redis.status !== 'ready';
    const workers = [...this.#workers, this.#alarmWorker];
    await within(FAREWELL, Promise.all(workers.map((worker) => worker.close(force))));
    await within(FAREWELL, Promise.all(this.#afterwards));
    this.#stopListening();
    this.#parts.closed();
  }
}

/** Whether `work` was done within so many milliseconds; without a bound it is waited for. */
async function within(pause: number | undefined, work: Promise<unknown>): Promise<boolean> {
  const done = work.then(() => true);
  if (pause === undefined) return done;
  const stop = new AbortController();
  const timeUp = delay(pause, false, { signal: stop.signal }).catch(() => false);
  const isDone = await Promise.race([done, timeUp]);
  stop.abort();
  return isDone;
}
