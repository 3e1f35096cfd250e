import { createHash } from 'node:crypto';
import type { Clock } from './clock.ts';

/**
 * The back-off window of one provider and key, shared by every call of the process: when one call is
 * told to wait, all wait, and none learns it the hard way. Who waited looks again before going, so that
 * the first one to fail again holds back the rest.
 */
export class SharedBackoff {
  readonly #clock: Clock;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Nobody asks for so many milliseconds from now. A window only grows. */
  close(milliseconds: number): void {
    this.#until = Math.max(this.#until, this.#clock.now() + milliseconds);
  }

  /** Milliseconds until the window opens; 0 when it is open. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#clock.now());
  }

  /**
   * Waits until the window is open, at once when it is. Those who waited go one after the other,
   * spread at random over `spread` milliseconds.
   */
  async wait(signal: AbortSignal, spread: number): Promise<void> {
    for (let { remaining } = this; remaining > 0; { remaining } = this) {
      await this.#clock.sleep(remaining + this.#clock.random() * spread, signal);
    }
  }
}

const windows = new Map<string, SharedBackoff>();

/** The window of a provider: one in the process for each server and key, whoever asks. */
export function sharedBackoff(server: string, apiKey: string | undefined, clock: Clock): SharedBackoff {
  const name = `${server} ${createHash('sha256')
    .update(apiKey ?? '')
    .digest('base64url')}`;
  let found = windows.get(name);
  if (!found) {
    found = new SharedBackoff(clock);
    windows.set(name, found);
  }
  return found;
}
