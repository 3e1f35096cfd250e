import { LONGEST_DELAY } from '../core/timer.ts';

/** A time limit whose clock can be stopped. Its timer keeps the process alive. */
export class Deadline {
  readonly #controller = new AbortController();
  #left: number;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(milliseconds: number) {
    this.#left = milliseconds;
    this.resume();
  }

  /** Aborts when the time is up. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  pause(): void {
    clearTimeout(this.#timer);
    this.#left -= performance.now() - this.#since;
  }

  resume(): void {
    this.#since = performance.now();
    const expire = () =>
      this.#controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    if (this.#left <= 0) expire();
    else if (this.#left <= LONGEST_DELAY) this.#timer = setTimeout(expire, Math.ceil(this.#left));
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
