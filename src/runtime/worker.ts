import { messageOf, ReasonixError } from '../core/errors.ts';
import type { Claim, ClaimOptions, Engine, Job, JobCounts, Outcome, Run } from '../engines/engine.ts';
import { Thread } from '../session/thread.ts';
import type { SessionSummary } from '../store/contract.ts';
import { listAll } from '../store/list-all.ts';
import { awaitedBy } from './awaited.ts';
import type { Wiring } from './runtime.ts';
import { runOpenTurn } from './session-work.ts';
import { isUnfit, UnfitSessions } from './unfit.ts';

export interface WorkOptions extends Omit<ClaimOptions, 'concurrency'> {
  /** Sessions that run at once here. Default: the configuration's `engine.concurrency`. */
  concurrency?: number | undefined;
  /** How often sessions are looked for that nobody runs, in milliseconds. Default 15,000. */
  reconcileEvery?: number | undefined;
  /** Told about every run of a session here. */
  watch?: WorkWatch | undefined;
}

/** What somebody who watches a worker hears; it must not throw. */
export interface WorkWatch {
  /** Whatever follows of this run is told to the returned function, once. */
  began(job: Job): (end: RunEnd) => void;
}

/** How a run of a session ended; `error` is why it failed, or why a `busy` or `unfit` session was left. */
export interface RunEnd {
  outcome: Outcome | 'failed';
  error?: unknown;
}

/** Sessions are being taken and run; `check` and `counts` ask the services that this needs. */
export interface Work extends Claim {
  /** Sessions that were met of late and cannot be run here: they are left to others. */
  readonly unfit: readonly string[];
  /** Resolves when the service answers. While it is away this may wait for it, or throw. */
  check(service: 'store' | 'engine'): Promise<void>;
  /** Runs of all workers, where the engine counts them. */
  counts(): Promise<JobCounts | undefined>;
}

const RECONCILE_EVERY = 15_000;

/**
 * Takes sessions from an engine and runs them. Sessions that are open in the store while the engine knows
 * nothing of them, as after it lost its memory, are brought back to it.
 */
export async function startWorker(wiring: Wiring, engine: Engine, options: WorkOptions = {}): Promise<Work> {
  const { engine: config } = wiring.config;
  const { concurrency = config.concurrency, tags = config.tags, reconcileEvery = RECONCILE_EVERY } = options;
  const onProblem = options.onProblem ?? wiring.onProblem;
  const unfit = new UnfitSessions(onProblem);
  const run = watched((job, control) => runOpenTurn(wiring, engine, job, control), unfit, options.watch);
  const claim = await engine.claim(run, { concurrency, tags, onProblem });
  const lost = new LostSessions(wiring, engine, unfit);
  let isClosed = false;
  let looking: Promise<void> | undefined;
  const look = () => {
    // One that waits for a service that is away is enough.
    looking ??= lost
      .bringBack()
      .catch((error: unknown) => {
        if (!isClosed) onProblem(`open sessions could not be looked for: ${messageOf(error)}`);
      })
      .finally(() => (looking = undefined));
  };
  look();
  const timer = setInterval(look, reconcileEvery);
  return {
    get running() {
      return claim.running;
    },
    get unfit() {
      return unfit.sessions;
    },
    async drained() {
      await looking;
      await claim.drained();
    },
    async close(grace) {
      isClosed = true;
      clearInterval(timer);
      await claim.close(grace);
    },
    async check(service) {
      if (service === 'store') await wiring.store.list({}, { limit: 1 });
      else await engine.counts?.();
    },
    async counts() {
      return engine.counts?.();
    },
  };
}

/** Runs that tell how they end, and leave sessions alone that somebody else has, or that only others can read. */
function watched(run: Run, unfit: UnfitSessions, watch: WorkWatch | undefined): Run {
  return async (job, control) => {
    const ended = watch?.began(job);
    try {
      const outcome = await run(job, control);
      unfit.ran(job.session);
      ended?.({ outcome });
      return outcome;
    } catch (error) {
      if (isUnfit(error)) unfit.met(job.session, error);
      else if (!isTaken(error)) {
        ended?.({ outcome: 'failed', error });
        throw error;
      }
      const outcome = isUnfit(error) ? 'unfit' : 'busy';
      ended?.({ outcome, error });
      return outcome;
    }
  };
}

/** Somebody else has the session, or had it when it died and its lease runs out before long. */
const isTaken = (error: unknown): boolean =>
  ReasonixError.isInstance(error, 'session_busy') || ReasonixError.isInstance(error, 'stale_writer');

/** An open session: the number of its last event and whether children were open, and what there is to run. */
interface Found {
  state: string;
  job: Job | undefined;
}

/** Sessions with an unfinished turn that nobody runs and no engine knows. */
class LostSessions {
  readonly #wiring: Wiring;
  readonly #engine: Engine;
  /** What was found at the last look: a log that has not grown since is not read again. */
  #foundLast = new Map<string, Found>();
  readonly #unfit: UnfitSessions;
  #isFirst = true;

  constructor(wiring: Wiring, engine: Engine, unfit: UnfitSessions) {
    this.#wiring = wiring;
    this.#engine = engine;
    this.#unfit = unfit;
  }

  async bringBack(): Promise<void> {
    const all = (await this.#engine.forgot?.()) ?? false;
    const open = await listAll(this.#wiring.store, { open: true });
    const children = all ? new Map<string, SessionSummary[]>() : childrenIn(open);
    const found = new Map<string, Found>();
    for (const summary of open) {
      const { session, holder, lastSeq } = summary;
      if (holder !== undefined) continue;
      const state = `${lastSeq} ${children.has(session)}`;
      const last = this.#foundLast.get(session);
      const job = last?.state === state ? last.job : await this.#jobOf(summary, children.get(session));
      found.set(session, { state, job });
      if (job) await this.#wake(job);
    }
    this.#foundLast = found;
    this.#isFirst = false;
  }

  /** Nothing for a session that somebody else must bring back, or that only waits. */
  async #jobOf({ session, root }: SessionSummary, children: readonly SessionSummary[] | undefined) {
    const log = await this.#read(session);
    if (!log?.turn?.terms || this.#isWaiting(log, children)) return undefined;
    return { session, root, tag: log.started?.tag };
  }

  /** One that waits for children has nothing to do before one of them has ended, and that wakes it. */
  #isWaiting(log: Thread, children: readonly SessionSummary[] = []): boolean {
    if (children.length === 0) return false;
    const isAwaited = awaitedBy(log, this.#wiring.host.background?.atEnd);
    return isAwaited !== undefined && children.some(isAwaited);
  }

  async #wake(job: Job): Promise<void> {
    if (!(await this.#engine.isKnown?.(job))) await this.#engine.wake(job);
    // Whoever put it off may not have been able to run it.
    else if (this.#isFirst) await this.#engine.hasten?.(job);
  }

  async #read(session: string): Promise<Thread | undefined> {
    try {
      return Thread.fold(session, await this.#wiring.store.read(session, 0, { whole: true }));
    } catch (error) {
      if (!isUnfit(error)) throw error;
      this.#unfit.met(session, error);
      return undefined;
    }
  }
}

/** Those of `open` that have a parent, by its id. */
function childrenIn(open: readonly SessionSummary[]): Map<string, SessionSummary[]> {
  const children = new Map<string, SessionSummary[]>();
  for (const summary of open) {
    const parent = summary.parent?.session;
    if (parent === undefined) continue;
    const siblings = children.get(parent);
    if (siblings) siblings.push(summary);
    else children.set(parent, [summary]);
  }
  return children;
}
