import { createHash } from 'node:crypto';
import type { Clock } from './clock.ts';

/**
 * The back-off window of one provider and key, shared by every call of the process: when one call is
 * told to wait, all wait, and none learns it the hard way. When the window opens they go one after the
 * other, the one with the lowest ticket first, and each looks again before it goes: the first one to fail again holds back
 * the rest, and no call is the one that is always refused.
 */
export class SharedBackoff {
  readonly #clock: Clock;
  readonly #waiting = new Set<number>();
  #until = 0;
  #spread = 0;
  #tickets = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The place of a call in the order of all. */
  ticket(): number {
    return ++this.#tickets;
  }

  /**
   * Nobody asks for so many milliseconds from now, and those who waited go within the next `spread`
   * milliseconds. A window only grows.
   */
  close(milliseconds: number, spread = 0): void {
    this.#until = Math.max(this.#until, this.#clock.now() + milliseconds);
    this.#spread = spread;
  }

  /** Milliseconds until the window opens; 0 when it is open. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#clock.now());
  }

  /** Waits until the window is open, at once when it is, and for the call's turn among those who waited. */
  async wait(signal: AbortSignal, ticket = this.ticket()): Promise<void> {
    if (this.remaining === 0) return;
    this.#waiting.add(ticket);
    try {
      for (let { remaining } = this; remaining > 0; { remaining } = this) {
        await this.#clock.sleep(remaining, signal);
        const turn = this.#turnOf(ticket);
        if (this.remaining === 0 && turn > 0) await this.#clock.sleep(turn, signal);
      }
    } finally {
      this.#waiting.delete(ticket);
    }
  }

  /** A random moment of the call's own part of the spread. */
  #turnOf(ticket: number): number {
    let before = 0;
    for (const other of this.#waiting) if (other < ticket) before++;
    return ((before + this.#clock.random()) / this.#waiting.size) * this.#spread;
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
