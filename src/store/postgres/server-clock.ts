import type { Query } from './connection.ts';

/** How long an answer is good for, in milliseconds: clocks of machines are put right now and then. */
const FRESH = 60_000;

/** What is less than this is left alone, in milliseconds: a look has its own error. */
const NOTICEABLE = 1_000;

/** The server's clock, as far as it is another one than this process's. */
export class ServerClock {
  readonly #query: Query;
  #ahead = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(query: Query) {
    this.#query = query;
  }

  /** Milliseconds that the server's clock is ahead; 0 for what makes no difference. */
  get ahead(): number {
    if (performance.now() - this.#lookedAt > FRESH) void this.look().catch(() => {});
    return this.#ahead;
  }

  /** ISO 8601, by the server's clock. */
  now(): string {
    return new Date(Date.now() + this.ahead).toISOString();
  }

  async look(): Promise<void> {
    this.#lookedAt = performance.now();
    const before = Date.now();
    const [row] = await this.#query<{ now: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    );
    const after = Date.now();
    if (!row) return;
    const ahead = Math.round(row.now - (before + after) / 2);
    this.#ahead = Math.abs(ahead) < NOTICEABLE + (after - before) ? 0 : ahead;
  }
}
