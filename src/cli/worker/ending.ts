import { EXIT } from '../failure.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Turns the first signal to end into an aborted one; the second one ends the process at once. */
export class Ending {
  readonly #controller = new AbortController();
  readonly #onSecond: () => void;
  readonly #onSignal = (name: NodeJS.Signals) => {
    if (!this.signal.aborted) {
      this.#controller.abort(name);
      return;
    }
    this.#onSecond();
    process.exit(EXIT.failed);
  };

  constructor(onSecond: () => void) {
    this.#onSecond = onSecond;
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  /** Aborted with the name of the signal that came. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Resolves with the first signal. */
  async asked(): Promise<void> {
    if (this.signal.aborted) return;
    await new Promise((resolve) => this.signal.addEventListener('abort', resolve, { once: true }));
  }

  close(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }
}
