import { describeError, ReasonixError } from '../core/errors.ts';

/** How long a session is remembered that was not met again, in milliseconds: longer than it is ever put off. */
const REMEMBERED = 15 * 60_000;

/** True for what keeps this version from running a session, and may not keep another one: its log holds what it cannot read, or write. */
export const isUnfit = (error: unknown): error is ReasonixError =>
  ReasonixError.isInstance(error, 'session_newer') || ReasonixError.isInstance(error, 'session_invalid');

/** Sessions that cannot be run here; each is told once. */
export class UnfitSessions {
  readonly #onProblem: (text: string) => void;
  /** When each was met last. */
  readonly #met = new Map<string, number>();

  constructor(onProblem: (text: string) => void) {
    this.#onProblem = onProblem;
  }

  get sessions(): string[] {
    this.#forget();
    return [...this.#met.keys()];
  }

  met(session: string, error: ReasonixError): void {
    this.#forget();
    const isKnown = this.#met.has(session);
    this.#met.set(session, performance.now());
    if (!isKnown) this.#onProblem(describeError(error));
  }

  /** It was run after all. */
  ran(session: string): void {
    this.#met.delete(session);
  }

  #forget(): void {
    const before = performance.now() - REMEMBERED;
    for (const [session, at] of this.#met) if (at < before) this.#met.delete(session);
  }
}
