/** How often a call that goes on without news says so, in milliseconds: clients give up on silent ones. */
const STILL = 10_000;

/**
 * Progress notifications of one call. The number counts them, since nobody knows how many there will be.
 * A client that reads slowly gets the newest line in place of those it missed.
 */
export class Progress {
  readonly #send: (progress: number, message: string) => Promise<void>;
  readonly #startedAt = Date.now();
  readonly #timer: NodeJS.Timeout;
  #count = 0;
  #last = '';
  #next: string | undefined;
  #isSending = false;
  #isClosed = false;
  #sent: Promise<void> = Promise.resolve();

  constructor(send: (progress: number, message: string) => Promise<void>, interval = STILL) {
    this.#send = send;
    this.#timer = setInterval(() => this.#still(), interval).unref();
  }

  tell(message: string): void {
    this.#last = message;
    this.#queue(message);
  }

  /** Takes nothing more; what was told is sent first, so that the result comes after it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#sent;
  }

  #still(): void {
    const seconds = Math.round((Date.now() - this.#startedAt) / 1000);
    this.#queue(`${this.#last} (${seconds} s since the start)`);
  }

  #queue(message: string): void {
    if (this.#isClosed) return;
    this.#next = message;
    if (!this.#isSending) this.#sent = this.#drain();
  }

  async #drain(): Promise<void> {
    this.#isSending = true;
    try {
      for (let message = this.#take(); message !== undefined; message = this.#take()) {
        await this.#send(++this.#count, message);
      }
    } catch {
      // Nobody is there to read it; the end of the connection says so by itself.
    } finally {
      this.#isSending = false;
    }
  }

  #take(): string | undefined {
    const message = this.#next;
    this.#next = undefined;
    return message;
  }
}
