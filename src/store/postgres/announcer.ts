/**
 * Tells those who follow in other processes of appends, by statements of their own. A commit that notifies
 * holds a lock of the whole server until it is on the disk: appends of all sessions would go one after the
 * other. When the process ends between the two, followers are left to their regular looks.
 */
export class Announcer {
  readonly #send: (sessions: readonly string[]) => Promise<unknown>;
  readonly #waiting = new Set<string>();
  #sending: Promise<void> | undefined;

  constructor(send: (sessions: readonly string[]) => Promise<unknown>) {
    this.#send = send;
  }

  /** One statement is on its way at a time; the next one takes all that came meanwhile. */
  announce(session: string): void {
    this.#waiting.add(session);
    this.#sending ??= this.#sendAll();
  }

  /** Until everything has been told. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.size > 0) {
      const sessions = [...this.#waiting];
      this.#waiting.clear();
      // Whoever follows looks again when its connection is back.
      await this.#send(sessions).catch(() => {});
    }
    this.#sending = undefined;
  }
}
