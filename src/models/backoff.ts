import { createHash } from 'node:crypto';
import { linkSignals } from '../core/linked-signal.ts';
import type { Clock } from './clock.ts';

/** Milliseconds after which the next call goes although nothing was heard of those before it: a model may think long. */
const PATIENCE = 1_000;

/**
 * The back-off window of one provider and key, shared by every call of the process: when one call is
 * told to wait, all wait, and none learns it the hard way. When the window opens they go in the order of
 * their tickets, one alone, then, while calls are taken, twice as many at a time: one that is refused holds
 * back the rest, and no call is the one that is always refused.
 */
export class SharedBackoff {
  readonly #clock: Clock;
  readonly #waiting = new Set<number>();
  /** Calls that went since the window opened, and of which nothing was heard. */
  readonly #unheard = new Set<number>();
  #until = 0;
  #spread = 0;
  #tickets = 0;
  /** How many calls may be unheard of. */
  #width = 1;
  #changed = new Signal();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The place of a call in the order of all. */
  ticket(): number {
    return ++this.#tickets;
  }

  /**
   * Nobody asks for so many milliseconds from now, and those who waited go within the next `spread`
   * milliseconds or later. A window only grows.
   */
  close(milliseconds: number, spread = 0): void {
    this.#until = Math.max(this.#until, this.#clock.now() + milliseconds);
    this.#spread = spread;
    this.#width = 1;
    this.#unheard.clear();
  }

  /** The server took this call: something came of it, or it failed for a reason of its own. */
  heard(ticket: number): void {
    if (!this.#unheard.delete(ticket)) return;
    this.#width *= 2;
    this.#tell();
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
      let isImpatient = false;
      for (;;) {
        if (this.remaining > 0) {
          await this.#clock.sleep(this.remaining, signal);
          const turn = this.#turnOf(ticket);
          if (this.remaining === 0 && turn > 0) await this.#clock.sleep(turn, signal);
          isImpatient = false;
        } else if (this.#mayGo(ticket, isImpatient)) {
          this.#unheard.add(ticket);
          return;
        } else {
          isImpatient = !(await this.#hears(signal));
        }
      }
    } finally {
      this.#waiting.delete(ticket);
      this.#tell();
    }
  }

  #mayGo(ticket: number, isImpatient: boolean): boolean {
    return this.#before(ticket) === 0 && (isImpatient || this.#unheard.size < this.#width);
  }

  /** True when something changed, false when nothing did for too long. */
  async #hears(signal: AbortSignal): Promise<boolean> {
    const patience = new AbortController();
    const linked = linkSignals([signal, patience.signal]);
    const sleep = this.#clock.sleep(PATIENCE, linked.signal).then(
      () => false,
      () => true,
    );
    const hasChanged = await Promise.race([this.#changed.promise.then(() => true), sleep]);
    patience.abort();
    linked.unlink();
    signal.throwIfAborted();
    return hasChanged;
  }

  #tell(): void {
    const before = this.#changed;
    this.#changed = new Signal();
    before.resolve();
  }

  #before(ticket: number): number {
    let count = 0;
    for (const other of this.#waiting) if (other < ticket) count++;
    return count;
  }

  /** A random moment of the call's own part of the spread. */
  #turnOf(ticket: number): number {
    return ((this.#before(ticket) + this.#clock.random()) / this.#waiting.size) * this.#spread;
  }
}

/** A promise that others resolve. */
class Signal {
  resolve: () => void = () => {};
  readonly promise = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });
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
