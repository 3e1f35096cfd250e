import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { ReasonixError } from '../../core/errors.ts';
import { isOutage, storeFault } from './faults.ts';

/** Runs one statement and gives its rows. */
export type Query = <Row extends object = Record<string, unknown>>(
  sql: string,
  values?: readonly unknown[],
) => Promise<Row[]>;

export interface ConnectionOptions {
  url: string;
  schema: string;
  /** Connections at once. */
  poolSize: number;
  /** How long to wait for a server that is away, in milliseconds. */
  patience: number;
  onProblem: (text: string) => void;
}

/** A pool of connections that outlives restarts of the server. */
export class Connection {
  readonly schema: string;
  readonly #pool: Pool;
  readonly #patience: number;
  readonly #work = new Set<Promise<unknown>>();

  private constructor(pool: Pool, { schema, patience, onProblem }: ConnectionOptions) {
    this.schema = schema;
    this.#pool = pool;
    this.#patience = patience;
    // An idle connection that the server closes is replaced by the next query.
    pool.on('error', (error) => {
      if (!isOutage(error)) onProblem(`the connection to Postgres failed: ${error.message}`);
    });
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const { default: pg } = await driver();
    const pool = new pg.Pool({
      connectionString: options.url,
      max: options.poolSize,
      application_name: 'reasonix',
      connectionTimeoutMillis: Math.max(1, Math.min(10_000, options.patience)),
      // Idle connections keep no process alive.
      allowExitOnIdle: true,
    });
    return new Connection(pool, options);
  }

  /** Sends a statement to whichever connection is free, as often as it is called. */
  readonly once: Query = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await this.#pool.query<Row & Record<string, unknown>>(sql, [...values])).rows as Row[];

  /** A statement that may be sent twice without harm; it waits for a server that is away. */
  readonly query: Query = <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    this.patiently(() => this.once<Row>(sql, values));

  /** All or nothing; begun again from the start when the server goes away. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    return this.patiently(async () => {
      const client = await this.#pool.connect();
      let broken: unknown;
      try {
        await client.query('begin');
        const result = await work(queryOf(client));
        await client.query('commit');
        return result;
      } catch (error) {
        broken = isOutage(error) ? error : undefined;
        if (!broken) await client.query('rollback').catch(() => {});
        throw error;
      } finally {
        client.release(broken instanceof Error ? broken : undefined);
      }
    });
  }

  /**
   * Calls `attempt` until the server answers, for at most `patience`. `attempt` is told whether an
   * earlier one may have taken effect without its answer having arrived.
   */
  patiently<T>(attempt: (isRepeated: boolean) => Promise<T>): Promise<T> {
    const work = this.#repeat(attempt);
    this.#work.add(work);
    work.finally(() => this.#work.delete(work)).catch(() => {});
    return work;
  }

  async #repeat<T>(attempt: (isRepeated: boolean) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#patience;
    for (let failures = 0; ; failures++) {
      try {
        return await attempt(failures > 0);
      } catch (error) {
        if (ReasonixError.isInstance(error)) throw error;
        if (!isOutage(error) || performance.now() >= deadline) throw storeFault(error);
      }
      await delay(Math.min(1_000, 25 * 2 ** failures) * (0.5 + Math.random() / 2));
    }
  }

  /** Waits for what was asked for. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#work]);
    await this.#pool.end();
  }
}

const queryOf =
  (client: PoolClient): Query =>
  async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await client.query<Row & Record<string, unknown>>(sql, [...values])).rows as Row[];

/** @throws ReasonixError `config` when the driver is not installed: it is an optional part of the package. */
export async function driver(): Promise<typeof import('pg')> {
  try {
    return await import('pg');
  } catch (error) {
    throw new ReasonixError('config', 'the Postgres store needs the package pg, which is not installed', {
      hint: 'npm install pg',
      cause: error,
    });
  }
}
