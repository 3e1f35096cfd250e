interface Amount {
  readonly tokens: number;
  readonly cost: number;
}

/** What model calls that are under way may use of one level of a budget. */
export class Reserved implements Amount {
  #tokens = 0;
  #cost = 0;
  readonly #waiting = new Set<() => void>();

  get tokens(): number {
    return this.#tokens;
  }

  get cost(): number {
    return this.#cost;
  }

  add({ tokens, cost }: Amount): void {
    this.#tokens += tokens;
    this.#cost += cost;
  }

  /** At the end of a call: whoever waits looks again. */
  giveBack({ tokens, cost }: Amount): void {
    this.#tokens -= tokens;
    this.#cost -= cost;
    if (tokens > 0 || cost > 0) for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves when a call that is under way has ended. @throws the signal's reason. */
  nextEnd(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#waiting.delete(settle);
        signal.removeEventListener('abort', settle);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      this.#waiting.add(settle);
      signal.addEventListener('abort', settle, { once: true });
    });
  }
}
