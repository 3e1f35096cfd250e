/** Milliseconds of work after which others get their turn. */
const PATIENCE = 25;

/** Lets long synchronous work give way to other work now and then. */
export class Patience {
  // the finer clock of `performance` is a module that a start would load for this alone
  #resumedAt = Date.now();

  async pause(): Promise<void> {
    if (Math.abs(Date.now() - this.#resumedAt) <= PATIENCE) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#resumedAt = Date.now();
  }
}
