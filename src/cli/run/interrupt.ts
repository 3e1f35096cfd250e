import { ReasonixError } from '../../core/errors.ts';
import { EXIT } from '../failure.ts';
import { note } from '../output.ts';

/** How long a cancelled run may take to write down its end before it is left, in milliseconds. */
const PATIENCE = 8_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Turns Ctrl-C, a termination and a reader that went away into an aborted signal. The first one lets
 * the turn end and be written down; a second one, or a turn that does not end, leaves at once.
 */
export class Interrupt {
  readonly #controller = new AbortController();
  readonly #onFirst: () => void;
  #signalled = false;
  #patience: NodeJS.Timeout | undefined;
  readonly #onSignal = (signal: NodeJS.Signals) => {
    if (this.#signalled) process.exit(EXIT.cancelled);
    this.#signalled = true;
    this.#onFirst();
    this.#stop(`stopped by ${signal}`);
  };
  readonly #onPipe = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') this.#stop('nobody reads the output any more');
  };

  /** `onFirst` tells the user that the turn is being stopped; a reader that went away is told nothing. */
  constructor(onFirst: () => void) {
    this.#onFirst = onFirst;
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
    process.stdout.on('error', this.#onPipe);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  close(): void {
    // In a chat the process goes on.
    clearTimeout(this.#patience);
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    process.stdout.off('error', this.#onPipe);
  }

  #stop(why: string): void {
    if (this.signal.aborted) return;
    this.#controller.abort(new ReasonixError('cancelled', why));
    this.#patience = setTimeout(() => {
      note('left before the turn had ended; where others run it, it may go on: reasonix session list');
      process.exit(EXIT.cancelled);
    }, PATIENCE).unref();
  }
}
