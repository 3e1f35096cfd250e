import { createHash } from 'node:crypto';
import { linkSignals } from '../core/linked-signal.ts';
import type { Clock } from './clock.ts';

/** Milliseconds for which the others at least wait to hear of the first: a model may think before it says a word. */
const PATIENCE = 1_000;

/** The call that goes first when the window opens, alone until something is heard of it. */
interface Probe {
  ticket: number;
  heard: Promise<void>;
  tell(): void;
}

/**
 * The back-off window of one provider and key, shared by every call of the process: when one call is
 * told to wait, all wait, and none learns it the hard way. When the window opens one call goes, and when
 * it was taken the others follow, the one with the lowest ticket first: a call that is refused holds back
 * the rest, and no call is the one that is always refused.
 */
export class SharedBackoff {
  readonly #clock: Clock;
  readonly #waiting = new Set<number>();
  #until = 0;
  #spread = 0;
  #tickets = 0;
  /** Set from the end of a window until the first call after it was taken or refused. */
  #isUntried = false;
  #probe: Probe | undefined;

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
    this.#isUntried = true;
    this.#endProbe();
  }

  /** The server took this call: something came of it, or it failed for a reason of its own. */
  heard(ticket: number): void {
    if (this.#probe?.ticket !== ticket) return;
    this.#isUntried = false;
    this.#endProbe();
  }

  /** Milliseconds until the window opens; 0 when it is open. */
  get remaining(): number {
    return Math.max(0, this.#until - this.#clock.now());
  }

  /** Waits until the window is open, at once when it is, and for the call's turn among those who waited. */
  async wait(signal: AbortSignal, ticket = this.ticket()): Promise<void> {
    // Who comes while others still wait for their turn does not go before them.
    if (this.remaining === 0 && this.#waiting.size === 0) return;
    this.#waiting.add(ticket);
    try {
      for (let isOpen = false; !isOpen; isOpen = this.remaining === 0) {
        if (this.remaining > 0) await this.#clock.sleep(this.remaining, signal);
        const turn = this.#turnOf(ticket);
        if (this.remaining === 0 && turn > 0) await this.#clock.sleep(turn, signal);
        if (this.remaining === 0) await this.#tryFirst(ticket, signal);
      }
    } finally {
      this.#waiting.delete(ticket);
    }
  }

  /** The first to come here goes at once; the others wait until it was heard of, but not for ever. */
  async #tryFirst(ticket: number, signal: AbortSignal): Promise<void> {
    if (this.#probe) {
      const patience = new AbortController();
      const linked = linkSignals([signal, patience.signal]);
      const sleep = this.#clock.sleep(Math.max(PATIENCE, this.#spread), linked.signal).catch(() => {});
      await Promise.race([this.#probe.heard, sleep]);
      patience.abort();
      linked.unlink();
      signal.throwIfAborted();
    } else if (this.#isUntried) {
      let tell = () => {};
      const heard = new Promise<void>((resolve) => {
        tell = resolve;
      });
      this.#probe = { ticket, heard, tell };
    }
  }

  #endProbe(): void {
    this.#probe?.tell();
    this.#probe = undefined;
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
