import { type Clock, systemClock } from './clock.ts';
import { Line } from './line.ts';

/** Bounds how many requests a minute go to a provider, whoever makes them. */
export interface RateLimit {
  /**
   * Resolves when one more request may go out: in no 60 seconds there are more than `perMinute`. Roots of
   * trees take turns, and callers of one `root` go in the order in which they came. 0 is no bound.
   * @throws the signal's reason when it aborts first; the caller is out of the line then.
   */
  acquire(provider: string, perMinute: number, signal: AbortSignal, root?: string): Promise<void>;
}

export interface LocalRateLimitOptions {
  /** Milliseconds that a minute has. Default 60,000. */
  window?: number | undefined;
  /** Default one that no change of the system's time moves. */
  clock?: RateClock | undefined;
}

export type RateClock = Pick<Clock, 'now' | 'sleep'>;

export const steadyClock: RateClock = { now: () => performance.now(), sleep: systemClock.sleep };

export const MINUTE = 60_000;

/** When the newest requests went out. */
export class RateWindow {
  readonly #length: number;
  #times: number[] = [];

  constructor(length: number) {
    this.#length = length;
  }

  /** Milliseconds until there is room for one more of `most`. */
  wait(most: number, now: number): number {
    this.#keep(now);
    const before = this.#times.at(-Math.max(1, Math.floor(most)));
    return before === undefined ? 0 : before + this.#length - now;
  }

  take(now: number): void {
    this.#keep(now);
    this.#times.push(now);
  }

  #keep(now: number): void {
    const newest = this.#times.at(-1) ?? now;
    // The clock was put back: what it said before counts from now on.
    if (newest > now) this.#times = this.#times.map((time) => time - (newest - now));
    const gone = this.#times.findIndex((time) => time > now - this.#length);
    if (gone !== 0) this.#times.splice(0, gone < 0 ? this.#times.length : gone);
  }

  /** Waits for room, and takes it. */
  async enter(most: number, signal: AbortSignal, clock: RateClock): Promise<void> {
    for (let left = this.wait(most, clock.now()); left > 0; left = this.wait(most, clock.now())) {
      await clock.sleep(Math.ceil(left), signal);
    }
    this.take(clock.now());
  }
}

/** A limit over the calls of this process. */
export function localRateLimit({ window = MINUTE, clock = steadyClock }: LocalRateLimitOptions = {}): RateLimit {
  const lines = new Map<string, Line>();
  return {
    async acquire(provider, perMinute, signal, root) {
      if (!(perMinute > 0)) return;
      let line = lines.get(provider);
      if (!line) {
        const sent = new RateWindow(window);
        line = new Line((most, left) => sent.enter(most, left, clock));
        lines.set(provider, line);
      }
      await line.wait(perMinute, signal, root);
    },
  };
}

/** The one that everything in this process shares that names no other. */
export const processRateLimit: RateLimit = localRateLimit();
