import { messageOf } from '../core/errors.ts';
import type { Claim, ClaimOptions, Engine, Job } from '../engines/engine.ts';
import { Thread } from '../session/thread.ts';
import type { SessionSummary } from '../store/contract.ts';
import type { Wiring } from './runtime.ts';
import { runOpenTurn } from './session-work.ts';

export interface WorkOptions extends Omit<ClaimOptions, 'concurrency'> {
  /** Sessions that run at once here. Default: the configuration's `engine.concurrency`. */
  concurrency?: number | undefined;
  /** How often sessions are looked for that nobody runs, in milliseconds. Default 15,000. */
  reconcileEvery?: number | undefined;
}

const RECONCILE_EVERY = 15_000;

/**
 * Takes sessions from an engine and runs them. Sessions that are open in the store while the engine knows
 * nothing of them, as after it lost its memory, are brought back to it.
 */
export async function startWorker(wiring: Wiring, engine: Engine, options: WorkOptions = {}): Promise<Claim> {
  const { engine: config } = wiring.config;
  const { concurrency = config.concurrency, tags = config.tags, reconcileEvery = RECONCILE_EVERY } = options;
  const onProblem = options.onProblem ?? wiring.onProblem;
  const claim = await engine.claim((job, control) => runOpenTurn(wiring, engine, job, control), {
    concurrency,
    tags,
    onProblem,
  });
  const lost = new LostSessions(wiring, engine);
  let looking: Promise<void> = Promise.resolve();
  const look = () => {
    looking = looking
      .then(() => lost.bringBack())
      .catch((error: unknown) => onProblem(`open sessions could not be looked for: ${messageOf(error)}`));
  };
  look();
  const timer = setInterval(look, reconcileEvery);
  return {
    get running() {
      return claim.running;
    },
    async drained() {
      await looking;
      await claim.drained();
    },
    async close(grace) {
      clearInterval(timer);
      await claim.close(grace);
      await looking;
    },
  };
}

/** Sessions with an unfinished turn that nobody runs and no engine knows. */
class LostSessions {
  readonly #wiring: Wiring;
  readonly #engine: Engine;
  /** Those of the last look that their own process runs, with the number of their last event. */
  #othersLast = new Map<string, number>();

  constructor(wiring: Wiring, engine: Engine) {
    this.#wiring = wiring;
    this.#engine = engine;
  }

  async bringBack(): Promise<void> {
    const all = (await this.#engine.forgot?.()) ?? false;
    const open = await this.#open();
    // One that waits for children has nothing to do before one of them has ended, and that wakes it.
    const waiting = new Set(all ? [] : open.map(({ parent }) => parent?.session));
    const others = new Map<string, number>();
    for (const { session, root, holder, lastSeq } of open) {
      if (holder !== undefined || waiting.has(session)) continue;
      const log = this.#othersLast.get(session) === lastSeq ? undefined : await this.#read(session);
      if (!log?.turn?.terms) others.set(session, lastSeq);
      else await this.#wake({ session, root, tag: log.started?.tag });
    }
    this.#othersLast = others;
  }

  async #wake(job: Job): Promise<void> {
    if (!(await this.#engine.isKnown?.(job))) await this.#engine.wake(job);
  }

  async #open(): Promise<SessionSummary[]> {
    const open: SessionSummary[] = [];
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      const page = await this.#wiring.store.list({ open: true }, { limit: 1000, cursor, order: 'oldest' });
      open.push(...page.sessions);
      cursor = page.next;
    }
    return open;
  }

  async #read(session: string): Promise<Thread> {
    return Thread.fold(session, await this.#wiring.store.read(session));
  }
}
