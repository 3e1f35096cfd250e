import type { Cancel } from './engine.ts';

/** The requests to cancel that one run has been told of; each reaches each listener once. */
export class CancelInbox {
  readonly #requests = new Map<string, Cancel>();
  readonly #listeners = new Set<(cancel: Cancel) => void>();

  deliver(cancel: Cancel): void {
    const { upTo, reason, message } = cancel;
    const key = JSON.stringify([upTo, reason, message?.session, message?.call]);
    if (this.#requests.has(key)) return;
    this.#requests.set(key, cancel);
    for (const listener of this.#listeners) listener(cancel);
  }

  listen(listener: (cancel: Cancel) => void): void {
    this.#listeners.add(listener);
    for (const cancel of [...this.#requests.values()]) listener(cancel);
  }
}
