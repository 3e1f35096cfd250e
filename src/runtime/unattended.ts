import { ReasonixError } from '../core/errors.ts';
import type { SessionInfo } from '../session/middleware.ts';
import type { SessionStore } from '../store/contract.ts';

/** How long nothing happens before it is asked whether anybody is there, in milliseconds. */
const QUIET = 5_000;

/** Finds out why nothing happens in a session that others run: nobody has it, or it is gone. */
export class Unattended {
  readonly #store: SessionStore;
  readonly #info: SessionInfo;
  readonly #tell: (text: string) => void;
  #since = performance.now();
  #isTold = false;

  constructor(store: SessionStore, info: SessionInfo, tell: (text: string) => void) {
    this.#store = store;
    this.#info = info;
    this.#tell = tell;
  }

  happened(): void {
    this.#since = performance.now();
  }

  /** Tells once that nobody runs the session or anything below it. @throws ReasonixError `session_not_found` when it was removed. */
  async look(): Promise<void> {
    if (performance.now() - this.#since < QUIET) return;
    this.happened();
    const { session, root, tag } = this.#info;
    const { sessions } = await this.#store.list({ root, open: true }, { limit: 1000 });
    if (!sessions.some((each) => each.session === session)) {
      const page = await this.#store.list({ idPrefix: session }, { limit: 1 });
      if (page.sessions.length > 0) return;
      throw new ReasonixError('session_not_found', `session ${session} was removed while its turn went on`);
    }
    if (this.#isTold || sessions.some(({ holder }) => holder !== undefined)) return;
    this.#isTold = true;
    const command = tag === undefined ? 'reasonix worker' : `reasonix worker --tag ${tag}`;
    this.#tell(`session ${session} waits for a worker: all are busy, or there is none; start one with: ${command}`);
  }
}
