import { messageOf } from '../../core/errors.ts';

/** How long a service may take to answer, in milliseconds. */
const PATIENCE = 2_000;

/** An answer of a service, or why there is none. */
export type Probed<T> = { answer: T } | { why: string };

/** Asks a service that may be away. One question at a time: one without an answer is waited for by all who ask. */
export class Probe<T> {
  readonly #ask: () => Promise<T>;
  #asking: Promise<Probed<T>> | undefined;

  constructor(ask: () => Promise<T>) {
    this.#ask = ask;
  }

  async look(): Promise<Probed<T>> {
    this.#asking ??= this.#ask()
      .then(
        (answer) => ({ answer }),
        (error: unknown) => ({ why: messageOf(error) }),
      )
      .finally(() => {
        this.#asking = undefined;
      });
    const { promise, stop } = late();
    try {
      return await Promise.race([this.#asking, promise]);
    } finally {
      stop();
    }
  }
}

function late(): { promise: Promise<{ why: string }>; stop: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const promise = new Promise<{ why: string }>((resolve) => {
    timer = setTimeout(() => resolve({ why: `no answer within ${PATIENCE / 1000} s` }), PATIENCE);
  });
  return { promise, stop: () => clearTimeout(timer) };
}
