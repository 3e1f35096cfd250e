/**
 * Reads of files that are asked for in one go, as by the calls of a step that run side by side, share one.
 * Whoever asks after that, with other work of the process in between, reads anew: an edit counts at once.
 */
export class SharedReads<T> {
  readonly #reads = new Map<string, Promise<T>>();

  get(key: string, read: () => Promise<T>): Promise<T> {
    const shared = this.#reads.get(key);
    if (shared) return shared;
    const reading = read();
    this.#reads.set(key, reading);
    process.nextTick(() => this.#reads.delete(key));
    return reading;
  }
}
