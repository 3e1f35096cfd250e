/** Runs what has the same key one after the other, and the rest side by side. What fails lets the next begin. */
export class KeyedQueue {
  /** The newest of each key that has not ended. */
  readonly #newest = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#newest.get(key);
    const turn = (async () => {
      await before?.catch(() => {});
      return work();
    })();
    this.#newest.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#newest.get(key) === turn) this.#newest.delete(key);
    }
  }
}
