/** How often a problem of one kind is told, in milliseconds. */
const PAUSE = 60_000;

/** Tells of problems that repeat while they last: each kind at most once a minute. */
export class Problems {
  readonly #onProblem: (text: string) => void;
  readonly #told = new Map<string, number>();

  constructor(onProblem: (text: string) => void) {
    this.#onProblem = onProblem;
  }

  tell(kind: string, text: string): void {
    const now = performance.now();
    const last = this.#told.get(kind);
    if (last !== undefined && now - last < PAUSE) return;
    this.#told.set(kind, now);
    this.#onProblem(text);
  }
}
