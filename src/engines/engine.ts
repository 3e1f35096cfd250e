/** A session that has something to do, as engines know it: ids only. */
export interface Job {
  session: string;
  /** The root of its tree: places are shared fairly among roots. */
  root: string;
  /** Only workers with this tag may run it; absent: all. */
  tag?: string | undefined;
}

/**
 * A request to end the turn of a session that began at or before the event `upTo`; later turns are left alone.
 * With a `message` the turn goes on, and is to take it in.
 */
export interface Cancel {
  reason: string;
  upTo: number;
  /** What the call of another session says to this one: one message, however often it comes. */
  message?: { session: string; call: string; content: string } | undefined;
}

/**
 * How a run of a session came out. `parked`: the turn waits for others and is left open; whatever it waits
 * for wakes it. `busy`: somebody else holds the session, or held it until a moment ago; it is tried again.
 * `unfit`: whoever took it cannot run it, and others may; it is tried again, in the end every few minutes.
 */
export type Outcome = 'ended' | 'parked' | 'busy' | 'unfit';

/** What a run is told from outside while it goes on. */
export interface RunControl {
  /** Calls `listener` once with every request to cancel the session, those that came before the run included. */
  onCancel(listener: (cancel: Cancel) => void): void;
  /** Aborts when the worker wants to end: the run goes on to the end of its step, and is handed over. */
  readonly leaving: AbortSignal;
}

/** Runs a session until it ends or parks. What it throws is a fault of the run: it is tried again later. */
export type Run = (job: Job, control: RunControl) => Promise<Outcome>;

export interface ClaimOptions {
  /** Sessions that run at once here. */
  concurrency: number;
  /** Tags of sessions that may run here, on top of those without one. Default none. */
  tags?: readonly string[] | undefined;
  /** Told about faults of runs and of the connection; they do not end the claim. */
  onProblem?: ((text: string) => void) | undefined;
}

/** Sessions are being taken from the engine and run. */
export interface Claim {
  /** Sessions that run here right now. */
  readonly running: number;
  /** Resolves when nothing waits for a run and nothing runs here. */
  drained(): Promise<void>;
  /** Takes no more sessions, tells those that run to leave, and waits for them, at most `grace` milliseconds. */
  close(grace?: number): Promise<void>;
}

/**
 * Who runs the turns of sessions, and where (design §15). The log of a session is the truth and says what is
 * to be done; an engine only says when and by whom, and may forget everything: `start` brings it back.
 *
 * A session is run by one run at a time, and no `start` or `wake` is lost: one that comes while the session
 * waits for its run is the same run, one that comes while it runs brings another run afterwards.
 */
export interface Engine {
  /** Has a session run that was given something to do. */
  start(job: Job): Promise<void>;
  /** A run is about to leave its session open, waiting for others; at `until` (epoch, milliseconds) it is woken at the latest. */
  park(job: Job, until?: number): Promise<void>;
  /** Has a session run for which something has come. */
  wake(job: Job): Promise<void>;
  /** Tells the run of a session to end its turn, or its message, wherever it runs; one that waits or is parked is run for that. */
  cancel(job: Job, cancel: Cancel): Promise<void>;
  /** Takes sessions and runs them, until the claim is closed. */
  claim(run: Run, options: ClaimOptions): Promise<Claim>;
  /** Ends its claims without grace; whatever is asked of it afterwards, or is still on its way, is refused. */
  close(): Promise<void>;
  /** Whether a run of the session waits, goes on or was put off: one without gets none unless somebody starts it. */
  isKnown?(job: Job): Promise<boolean>;
  /** Has a session run now that was put off; one that waits or runs is left alone. */
  hasten?(job: Job): Promise<void>;
  /** True once after the engine may have lost jobs: what is open in the store should be started again. */
  forgot?(): Promise<boolean>;
  /** Runs of sessions with the tags that this engine has met. */
  counts?(): Promise<JobCounts>;
}

/** `delayed` are put off: the session was busy, a run of it failed, or nobody could run it. Timers of parked sessions do not count. */
export interface JobCounts {
  waiting: number;
  active: number;
  delayed: number;
}
