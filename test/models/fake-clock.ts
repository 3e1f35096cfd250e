import type { Clock } from '../../src/models/clock.ts';

/** A clock that only moves when somebody sleeps, or when it is told to. Sleeps wake in order of time. */
export class FakeClock implements Clock {
  #now = 1_000_000;
  readonly #random: () => number;
  readonly sleeps: number[] = [];
  readonly #sleepers: { at: number; wake: () => void }[] = [];
  #turning = false;

  constructor(random: () => number = () => 0.5) {
    this.#random = random;
  }

  now = (): number => this.#now;

  random = (): number => this.#random();

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }

  sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    this.sleeps.push(milliseconds);
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const stop = () => {
        this.#sleepers.splice(this.#sleepers.indexOf(sleeper), 1);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      const sleeper = { at: this.#now + milliseconds, wake };
      this.#sleepers.push(sleeper);
      signal.addEventListener('abort', stop);
      this.#turn();
    });
  }

  /** Wakes the next sleeper when everything else that can run has run. */
  #turn(): void {
    if (this.#turning) return;
    this.#turning = true;
    setImmediate(() => {
      this.#turning = false;
      const next = this.#sleepers.sort((left, right) => left.at - right.at).shift();
      if (!next) return;
      this.#now = Math.max(this.#now, next.at);
      next.wake();
      if (this.#sleepers.length > 0) this.#turn();
    });
  }
}
