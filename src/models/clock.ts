import { setTimeout as delay } from 'node:timers/promises';

/** Time and chance, so that tests can hold them. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** From 0 up to 1. */
  random(): number;
  /** Resolves after `milliseconds`; rejects as soon as `signal` aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (milliseconds, signal) => delay(milliseconds, undefined, { signal }),
};
