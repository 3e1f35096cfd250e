import { setMaxListeners } from 'node:events';

/** Waits until one more may go; rejects when `signal` aborts, as it does when nobody waits any more. */
export type Admit = (most: number, signal: AbortSignal) => Promise<void>;

interface Waiting {
  most: number;
  go(): void;
  fail(error: unknown): void;
}

/** Lets callers go one after the other: roots in turn, and those of one root as they came. Who gives up leaves the line. */
export class Line {
  readonly #admit: Admit;
  /** By root; the root whose turn it is comes first. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #left = new AbortController();
  #moves = false;

  constructor(admit: Admit) {
    this.#admit = admit;
  }

  /** @throws the signal's reason when it aborts first, and whatever `admit` does. */
  wait(most: number, signal: AbortSignal, root = ''): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const end = (settle: () => void) => {
        signal.removeEventListener('abort', giveUp);
        this.#leave(root, caller);
        settle();
      };
      const giveUp = () => {
        end(() => reject(signal.reason));
        if (this.#waiting.size === 0) this.#left.abort(signal.reason);
      };
      const go = () => {
        end(resolve);
        this.#comesLast(root);
      };
      const caller = { most, go, fail: (error: unknown) => end(() => reject(error)) };
      // Many calls may wait under one signal of the user's.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', giveUp);
      this.#waiting.set(root, (this.#waiting.get(root) ?? new Set()).add(caller));
      if (!this.#moves) void this.#move();
    });
  }

  get #first(): Waiting | undefined {
    return this.#waiting.values().next().value?.values().next().value;
  }

  #leave(root: string, caller: Waiting): void {
    const callers = this.#waiting.get(root);
    callers?.delete(caller);
    if (callers?.size === 0) this.#waiting.delete(root);
  }

  #comesLast(root: string): void {
    const callers = this.#waiting.get(root);
    if (!callers) return;
    this.#waiting.delete(root);
    this.#waiting.set(root, callers);
  }

  async #move(): Promise<void> {
    this.#moves = true;
    for (let first = this.#first; first; first = this.#first) {
      const left = new AbortController();
      this.#left = left;
      try {
        await this.#admit(first.most, left.signal);
        // Whoever is first by now: the one it was asked for may have given up.
        this.#first?.go();
      } catch (error) {
        if (!left.signal.aborted) this.#first?.fail(error);
      }
    }
    this.#moves = false;
  }
}
