import { setTimeout as delay } from 'node:timers/promises';
import PQueue from 'p-queue';
import { messageOf, ReasonixError } from '../core/errors.ts';
import { timerDelay } from '../core/timer.ts';
import { CancelInbox } from './cancel-inbox.ts';
import type { Cancel, Claim, ClaimOptions, Engine, Job, JobCounts, Outcome, Run } from './engine.ts';
import { FairQueue } from './fair-queue.ts';
import { BUSY_DELAY, CANCEL_LIFETIME, failedRun, retryDelay, unfitDelay } from './retry.ts';

export interface InProcessEngineOptions {
  /** Sessions that run at once, over all claims. Default: as many as the claims allow. */
  concurrency?: number | undefined;
}

/** The engine of one process: what it knows ends with it, and the log brings it back. */
export function inProcessEngine(options: InProcessEngineOptions = {}): Engine {
  return new InProcessEngine(options.concurrency ?? Number.POSITIVE_INFINITY);
}

interface Running {
  readonly inbox: CancelInbox;
  /** Something came for the session while it ran. */
  isWoken: boolean;
}

class InProcessEngine implements Engine {
  readonly #concurrency: number;
  readonly #waiting = new FairQueue();
  readonly #running = new Map<string, Running>();
  readonly #putOff = new Map<string, { job: Job; timer: NodeJS.Timeout }>();
  readonly #alarms = new Map<string, NodeJS.Timeout>();
  readonly #faults = new Map<string, number>();
  readonly #unfit = new Map<string, number>();
  readonly #cancels = new Map<string, Set<Cancel>>();
  readonly #claims = new Set<LocalClaim>();
  #isClosed = false;

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  async start(job: Job): Promise<void> {
    await this.wake(job);
  }

  async wake(job: Job): Promise<void> {
    this.#assertOpen();
    const running = this.#running.get(job.session);
    if (running) running.isWoken = true;
    else if (!this.#putOff.has(job.session)) this.#enqueue(job);
  }

  async park(job: Job, until?: number): Promise<void> {
    this.#assertOpen();
    this.#clearAlarm(job.session);
    if (until !== undefined) this.#setAlarm(job, until);
  }

  async cancel(job: Job, cancel: Cancel): Promise<void> {
    this.#assertOpen();
    const cancels = this.#cancels.get(job.session) ?? new Set();
    this.#cancels.set(job.session, cancels.add(cancel));
    setTimeout(() => {
      cancels.delete(cancel);
      if (cancels.size === 0) this.#cancels.delete(job.session);
    }, CANCEL_LIFETIME).unref();
    this.#running.get(job.session)?.inbox.deliver(cancel);
    this.#resume(job.session);
    await this.wake(job);
  }

  async claim(run: Run, options: ClaimOptions): Promise<Claim> {
    this.#assertOpen();
    const claim: LocalClaim = new LocalClaim(options, {
      next: (fits) => (this.#running.size < this.#concurrency ? this.#waiting.take(fits) : undefined),
      isIdle: (fits) => !this.#waiting.holds(fits) && ![...this.#putOff.values()].some(({ job }) => fits(job)),
      run: (job) => this.#run(job, run, claim),
      closed: () => this.#claims.delete(claim),
    });
    this.#claims.add(claim);
    for (let job = 0; job < this.#waiting.size; job++) claim.offer();
    return claim;
  }

  async hasten({ session }: Job): Promise<void> {
    this.#assertOpen();
    this.#resume(session);
  }

  async isKnown({ session }: Job): Promise<boolean> {
    return this.#running.has(session) || this.#waiting.has(session) || this.#putOff.has(session);
  }

  async counts(): Promise<JobCounts> {
    return { waiting: this.#waiting.size, active: this.#running.size, delayed: this.#putOff.size };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer } of this.#putOff.values()) clearTimeout(timer);
    for (const timer of this.#alarms.values()) clearTimeout(timer);
    await Promise.all([...this.#claims].map((claim) => claim.close(0)));
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new ReasonixError('engine', 'the engine is closed');
  }

  #enqueue(job: Job): void {
    this.#waiting.add(job);
    this.#offer();
  }

  #offer(): void {
    for (const claim of this.#claims) claim.offer();
  }

  async #run(job: Job, run: Run, claim: LocalClaim): Promise<void> {
    const { session } = job;
    const running: Running = { inbox: new CancelInbox(), isWoken: false };
    this.#running.set(session, running);
    for (const cancel of this.#cancels.get(session) ?? []) running.inbox.deliver(cancel);
    let outcome: Outcome | undefined;
    try {
      outcome = await run(job, { onCancel: (listener) => running.inbox.listen(listener), leaving: claim.leaving });
    } catch (error) {
      const faults = (this.#faults.get(session) ?? 0) + 1;
      this.#faults.set(session, faults);
      claim.tell(failedRun(session, faults, messageOf(error)));
    }
    this.#running.delete(session);
    if (this.#isClosed) return;
    if (outcome === 'ended' || outcome === 'parked') this.#faults.delete(session);
    if (outcome === 'unfit') this.#unfit.set(session, (this.#unfit.get(session) ?? 0) + 1);
    else this.#unfit.delete(session);
    if (outcome === 'ended') this.#clearAlarm(session);
    if (outcome === undefined) this.#putJobOff(job, retryDelay(this.#faults.get(session) ?? 1));
    else if (outcome === 'busy') this.#putJobOff(job, claim.leaving.aborted ? 0 : BUSY_DELAY);
    else if (outcome === 'unfit') this.#putJobOff(job, unfitDelay(this.#unfit.get(session) ?? 1));
    else if (running.isWoken) this.#enqueue(job);
    // A place of the whole engine may have become free for another claim.
    if (this.#waiting.size > 0) this.#offer();
  }

  #putJobOff(job: Job, pause: number): void {
    const timer = setTimeout(() => this.#resume(job.session), pause);
    this.#putOff.set(job.session, { job, timer });
  }

  /** Has a session that was put off wait for its run like any other. */
  #resume(session: string): void {
    const putOff = this.#putOff.get(session);
    if (!putOff) return;
    clearTimeout(putOff.timer);
    this.#putOff.delete(session);
    this.#enqueue(putOff.job);
  }

  #setAlarm(job: Job, until: number): void {
    // Node fires a longer timer at once: of a long pause the rest is waited for afterwards.
    const pause = timerDelay(Math.max(0, until - Date.now()));
    const ring = () => {
      this.#alarms.delete(job.session);
      if (Date.now() < until) this.#setAlarm(job, until);
      else void this.wake(job);
    };
    this.#alarms.set(job.session, setTimeout(ring, pause));
  }

  #clearAlarm(session: string): void {
    clearTimeout(this.#alarms.get(session));
    this.#alarms.delete(session);
  }
}

interface Source {
  next(fits: (job: Job) => boolean): Job | undefined;
  isIdle(fits: (job: Job) => boolean): boolean;
  run(job: Job): Promise<void>;
  closed(): void;
}

class LocalClaim implements Claim {
  readonly #options: ClaimOptions;
  readonly #source: Source;
  readonly #places: PQueue;
  readonly #leaving = new AbortController();
  readonly #drained = new Set<() => void>();
  #running = 0;
  #closing: Promise<void> | undefined;

  constructor(options: ClaimOptions, source: Source) {
    this.#options = options;
    this.#source = source;
    this.#places = new PQueue({ concurrency: options.concurrency });
  }

  get running(): number {
    return this.#running;
  }

  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  tell(text: string): void {
    if (this.#options.onProblem) this.#options.onProblem(text);
    else process.emitWarning(text, 'ReasonixEngine');
  }

  /** There may be a job: with the next free place it is taken, if it is still there. */
  offer(): void {
    if (!this.#closing) void this.#places.add(() => this.#runNext());
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained.add(resolve);
      this.#settle();
    });
  }

  close(grace?: number): Promise<void> {
    this.#closing ??= this.#end(grace);
    return this.#closing;
  }

  async #end(grace: number | undefined): Promise<void> {
    this.#places.clear();
    this.#leaving.abort();
    const patience = new AbortController();
    const idle = this.#places.onIdle();
    const timeUp = delay(grace, undefined, { signal: patience.signal }).catch(() => {});
    await (grace === undefined ? idle : Promise.race([idle, timeUp]));
    patience.abort();
    this.#source.closed();
    this.#settle();
  }

  async #runNext(): Promise<void> {
    const job = this.#closing ? undefined : this.#source.next(this.#fits);
    if (job) {
      this.#running++;
      await this.#source.run(job);
      this.#running--;
    }
    this.#settle();
  }

  readonly #fits = ({ tag }: Job): boolean => tag === undefined || (this.#options.tags ?? []).includes(tag);

  #settle(): void {
    const isDrained = this.#running === 0 && this.#source.isIdle(this.#fits);
    if (!isDrained && !this.#closing) return;
    for (const resolve of this.#drained) resolve();
    this.#drained.clear();
  }
}
