import type { Connection } from './connection.ts';

/** How old the last use of a blob may be before another use is written down. Less than any age at which blobs are dropped. */
const FRESH = '10 minutes';

/** The table of blobs. */
export class Blobs {
  readonly #connection: Connection;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#sql = statements(connection.schema);
  }

  async put(blobs: ReadonlyMap<string, Uint8Array>): Promise<void> {
    if (blobs.size === 0) return;
    await this.#connection.query(this.#sql.put, [[...blobs.keys()], [...blobs.values()]]);
  }

  /** Two statements: the second sees what was dropped while the first waited for it. */
  async missing(hashes: readonly string[]): Promise<string[]> {
    await this.#connection.query(this.#sql.touch, [hashes]);
    const rows = await this.#connection.query<{ hash: string }>(this.#sql.missing, [hashes]);
    return rows.map(({ hash }) => hash);
  }

  async read(hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    const rows = await this.#connection.query<{ hash: string; data: Uint8Array }>(this.#sql.read, [hashes]);
    return new Map(rows.map(({ hash, data }) => [hash, data]));
  }

  async named(): Promise<string[]> {
    const rows = await this.#connection.query<{ library: string }>(this.#sql.named);
    return rows.map(({ library }) => library);
  }

  async drop(kept: ReadonlySet<string>, unusedFor: number): Promise<number> {
    const [row] = await this.#connection.query<{ dropped: number }>(this.#sql.drop, [[...kept], unusedFor / 1000]);
    return row?.dropped ?? 0;
  }
}

/** Rows are taken in the order of their hashes, so that two processes that put the same ones wait for each other in turn. */
function statements(schema: string) {
  const blobs = `${schema}.blobs`;
  return {
    put: `insert into ${blobs} (hash, data) select hash, data from unnest($1::text[], $2::bytea[]) as given (hash, data)
      order by hash on conflict (hash) do update set used_at = excluded.used_at`,
    touch: `update ${blobs} set used_at = clock_timestamp() where hash in (
        select hash from ${blobs} where hash = any($1::text[]) and used_at < clock_timestamp() - interval '${FRESH}'
        order by hash for update
      )`,
    missing: `select hash from unnest($1::text[]) as given (hash)
      where not exists (select 1 from ${blobs} where ${blobs}.hash = given.hash)`,
    read: `select hash, data from ${blobs} where hash = any($1::text[])`,
    // Not as JSON: a text with \u0000, which JSON may hold, is none of Postgres. Quotes inside of texts are escaped.
    named: `select distinct library from (
        select substring(coalesce(events.data, large.data) from '"library":"([0-9a-f]{64})"') as library
        from ${schema}.sessions
        join ${schema}.events on events.session = sessions.session and events.seq = 1
        left join ${schema}.large_events large on large.session = events.session and large.seq = 1
      ) as first where library is not null`,
    drop: `with dropped as (
        delete from ${blobs} where used_at < clock_timestamp() - make_interval(secs => $2::double precision)
          and not exists (select 1 from unnest($1::text[]) as kept (hash) where kept.hash = ${blobs}.hash)
        returning 1
      ) select count(*)::integer as dropped from dropped`,
  };
}
