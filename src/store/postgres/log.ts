import type { StoredEvent } from '../../core/events.ts';
import { decodeRows, type EncodedEvent, type EventRow, ReadReport, stored } from '../codec.ts';
import type { Lease, ReadOptions } from '../contract.ts';
import { heldBy, leaseLost, outrun } from '../errors.ts';
import type { Tail } from '../followers.ts';
import { applyToSummary, emptySummary } from '../summary.ts';
import type { Connection } from './connection.ts';
import type { Leases } from './leases.ts';
import type { ServerClock } from './server-clock.ts';

/** Rows read at once. */
const CHUNK = 1_000;

/** Longest text of an event that stands in the log itself, in characters; longer ones stand beside it. */
const LARGE = 32 * 1024;

/** The table of events: the truth of the store. */
export class Log {
  readonly #connection: Connection;
  readonly #leases: Leases;
  readonly #clock: ServerClock;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: Connection, leases: Leases, clock: ServerClock) {
    this.#clock = clock;
    this.#connection = connection;
    this.#leases = leases;
    this.#sql = statements(connection.schema);
  }

  async append(
    session: string,
    expectedSeq: number,
    encoded: readonly EncodedEvent[],
    lease: Lease | undefined,
  ): Promise<StoredEvent[]> {
    if (lease && lease.session !== session) throw leaseLost(lease, undefined);
    const at = this.#clock.now();
    const appended = encoded.map(({ event }, index) => stored(event, expectedSeq + 1 + index, at));
    const values = this.#values(session, expectedSeq, encoded, lease, at, appended);
    const sql = expectedSeq === 0 ? this.#sql.begin : this.#sql.append;
    return this.#connection.patiently(async (isRepeated) => {
      while (encoded.length > 0) {
        const [row] = await this.#connection.once<{ appended: number }>(sql, values);
        if (row && row.appended > 0) return appended;
        // The answer to an earlier attempt was lost, not the attempt.
        if (isRepeated && (await this.#isThere(session, expectedSeq, encoded, at))) return appended;
        await this.#explainRefusal(session, expectedSeq, lease);
      }
      await this.#explainRefusal(session, expectedSeq, lease);
      return [];
    });
  }

  /** Events after `fromSeq`; what cannot be read is left out and reported. */
  async read(
    session: string,
    fromSeq: number,
    onProblem: (text: string) => void,
    options?: ReadOptions,
  ): Promise<Tail> {
    const report = new ReadReport(session);
    const events: StoredEvent[] = [];
    let lastSeq = fromSeq;
    for (;;) {
      const rows = await this.#connection.query<EventRow>(this.#sql.read, [session, lastSeq, CHUNK]);
      decodeRows(rows, lastSeq, events, report, options);
      lastSeq = rows.at(-1)?.seq ?? lastSeq;
      if (rows.length < CHUNK) break;
    }
    report.send(onProblem);
    return { events, lastSeq };
  }

  /** Leases first and the log last: the order in which an append takes its locks. */
  async delete(session: string): Promise<void> {
    await this.#connection.transaction(async (query) => {
      for (const sql of this.#sql.delete) await query(sql, [session]);
    });
  }

  #values(
    session: string,
    expectedSeq: number,
    encoded: readonly EncodedEvent[],
    lease: Lease | undefined,
    at: string,
    appended: readonly StoredEvent[],
  ): unknown[] {
    const summary = { ...emptySummary(session, at), status: '' as 'idle' };
    for (const event of appended) applyToSummary(summary, event);
    const common = [
      session,
      expectedSeq,
      at,
      encoded.map(({ type }) => type),
      encoded.map(({ data }) => data),
      lease?.owner ?? null,
      lease?.epoch ?? null,
      summary.status,
      withoutNul(summary.title),
    ];
    if (expectedSeq > 0) return common;
    const { kind, root, parent, skill, cwd, model, depth } = summary;
    const first = [kind, root, parent?.session ?? null, parent?.call ?? null, skill ?? null, cwd, model];
    return [...common, ...first.map((text) => (text === null ? null : withoutNul(text))), depth];
  }

  async #isThere(session: string, expectedSeq: number, encoded: readonly EncodedEvent[], at: string): Promise<boolean> {
    const rows = await this.#connection.query<{ at: string; data: string }>(this.#sql.raw, [
      session,
      expectedSeq,
      encoded.length,
    ]);
    return (
      rows.length === encoded.length && rows.every((row, index) => row.at === at && row.data === encoded[index]?.data)
    );
  }

  /** Throws what keeps an append out, as every store words it; returns when nothing does any more. */
  async #explainRefusal(session: string, expectedSeq: number, lease: Lease | undefined): Promise<void> {
    const held = await this.#leases.state(session);
    if (lease) {
      if (held?.owner !== lease.owner || held.epoch !== lease.epoch) throw leaseLost(lease, held?.holder);
    } else if (held?.holder !== undefined) {
      throw heldBy(session, held.holder);
    }
    const [row] = await this.#connection.query<{ seq: number }>(this.#sql.lastSeq, [session]);
    const lastSeq = row?.seq ?? 0;
    if (lastSeq !== expectedSeq) throw outrun(session, expectedSeq, lastSeq, held?.holder);
    // A holder whose process is gone is in the way until its lease runs out.
    if (!lease && held) await this.#leases.drop(session, held);
  }
}

/** Text of Postgres holds no NUL; listings can do without it. */
const withoutNul = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/**
 * $1 session, $2 expected seq, $3 at, $4 types, $5 data, $6 owner, $7 epoch, $8 status or '', $9 title.
 * The lock on the lease's row makes a change of hands wait for this append, and this append for a change
 * that is under way; that on the session's row lets one of two appends at the same position through.
 */
function statements(schema: string) {
  const data = `coalesce(data, (
      select large.data from ${schema}.large_events large where large.session = events.session and large.seq = events.seq
    ))`;
  const permitted = `permitted as materialized (
      select 1 from ${schema}.leases where session = $1 and owner = $6 and epoch = $7 for update
    ), allowed as materialized (
      select case when $6::text is null
        then not exists (select 1 from ${schema}.leases where session = $1 and owner is not null and expires > clock_timestamp())
        else exists (select 1 from permitted) end as yes
    )`;
  const written = `rows as materialized (
      select $2::integer + ordinality::integer as seq, type, data
      from unnest($4::text[], $5::text[]) with ordinality as given (type, data, ordinality), head
    ), large as (
      insert into ${schema}.large_events (session, seq, data)
      select $1, seq, data from rows where length(data) > ${LARGE}
    ), written as (
      insert into ${schema}.events (session, seq, at, type, data)
      select $1, seq, $3, type, case when length(data) > ${LARGE} then null else data end from rows returning 1
    )
    select count(*)::integer as appended from written`;
  return {
    begin: `with ${permitted}, head as (
        insert into ${schema}.sessions (session, kind, root, parent_session, parent_call, skill, cwd, model, depth,
          title, created_at, updated_at, last_seq, status)
        select $1, $10, $11, $12, $13, $14, $15, $16, $17::integer, $9, $3, $3, $2::integer + cardinality($4::text[]),
          coalesce(nullif($8, ''), 'idle')
        from allowed where yes
        on conflict (session) do nothing returning session
      ), ${written}`,
    append: `with ${permitted}, head as (
        update ${schema}.sessions set last_seq = $2::integer + cardinality($4::text[]), updated_at = $3,
          status = coalesce(nullif($8, ''), status), title = case when title = '' then $9 else title end
        where session = $1 and last_seq = $2::integer and (select yes from allowed) returning session
      ), ${written}`,
    read: `select seq, '{"seq":' || seq || ',"at":"' || at || '",' || substr(${data}, 2) as json
      from ${schema}.events where session = $1 and seq > $2 order by seq limit $3`,
    raw: `select at, ${data} as data
      from ${schema}.events where session = $1 and seq > $2 order by seq limit $3`,
    lastSeq: `select last_seq as seq from ${schema}.sessions where session = $1`,
    delete: ['leases', 'sessions', 'large_events', 'events'].map(
      (table) => `delete from ${schema}.${table} where session = $1`,
    ),
  };
}
