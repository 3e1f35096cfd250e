import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from '../../engines/engine.ts';
import type { RunEnd, Work } from '../../runtime/worker.ts';

/** So many runs in a row must fail, or find a session that cannot be run here, before a session is given up. */
const ATTEMPTS = 3;

/** How often to look whether only hopeless sessions are left, in milliseconds. */
const POLL = 500;

/** Tells when everything is done, also when there are sessions that never can be. */
export class Draining {
  readonly #failing = new Map<string, number>();

  ran({ session }: Job, { outcome }: RunEnd): void {
    if (outcome === 'ended' || outcome === 'parked') this.#failing.delete(session);
    else if (outcome === 'failed' || outcome === 'unfit')
      this.#failing.set(session, (this.#failing.get(session) ?? 0) + 1);
  }

  /** Resolves when nothing is left, with the sessions whose runs fail again and again. */
  async done(work: Work, signal: AbortSignal): Promise<string[]> {
    const stop = new AbortController();
    try {
      return await Promise.race([
        work.drained().then(() => []),
        this.#stuck(work, AbortSignal.any([signal, stop.signal])),
      ]);
    } finally {
      stop.abort();
    }
  }

  async #stuck(work: Work, signal: AbortSignal): Promise<string[]> {
    while (!signal.aborted) {
      await delay(POLL, undefined, { signal }).catch(() => {});
      const given = [...this.#failing].filter(([, times]) => times >= ATTEMPTS).map(([session]) => session);
      if (given.length === 0 || work.running > 0) continue;
      const counts = await work.counts().catch(() => undefined);
      if (counts?.waiting === 0 && counts.active === 0 && counts.delayed <= given.length) return given;
    }
    return new Promise(() => {});
  }
}
