import type { SessionEvent } from '../../core/events.ts';
import { decodeEvent, type EventRow } from '../codec.ts';
import type { ListFilter, Page, SessionSummary } from '../contract.ts';
import { mayBeAlive } from '../owner.ts';
import { cursorAfter, pagingOf } from '../paging.ts';
import { applyToSummary, emptySummary, SUMMARY_EVENTS, type Summary } from '../summary.ts';
import type { Database, SqlValue, Statement } from './driver.ts';
import { EVENT_ROW } from './schema.ts';

interface SummaryRow {
  session: string;
  kind: 'root' | 'child';
  root: string;
  parent_session: string | null;
  parent_call: string | null;
  skill: string | null;
  title: string;
  cwd: string;
  model: string;
  depth: number;
  created_at: string;
  updated_at: string;
  last_seq: number;
  status: Summary['status'];
}

const COLUMNS = [
  'session',
  'kind',
  'root',
  'parent_session',
  'parent_call',
  'skill',
  'title',
  'cwd',
  'model',
  'depth',
  'created_at',
  'updated_at',
  'last_seq',
  'status',
] as const satisfies (keyof SummaryRow)[];

/** The table of sessions: a projection of the events, made for listings, that can be rebuilt from them. */
export class Summaries {
  readonly #db: Database;
  readonly #select: Statement;
  readonly #insert: Statement;
  readonly #update: Statement;
  readonly #delete: Statement;
  /** One statement for every combination of filters that was asked for. */
  readonly #lists = new Map<string, Statement>();

  constructor(db: Database) {
    this.#db = db;
    this.#select = db.prepare(`select ${COLUMNS.join(', ')} from sessions where session = ?`);
    this.#insert = db.prepare(
      `insert or replace into sessions (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})`,
    );
    this.#update = db.prepare(
      'update sessions set title = ?, updated_at = ?, last_seq = ?, status = ? where session = ?',
    );
    this.#delete = db.prepare('delete from sessions where session = ?');
  }

  /** The summary of a log that stands at `lastSeq`, made anew when the kept one is missing or behind. */
  current(session: string, lastSeq: number): Summary | undefined {
    if (lastSeq === 0) return undefined;
    const row = this.#select.get(session) as SummaryRow | undefined;
    return row?.last_seq === lastSeq ? fromRow(row) : this.rebuild(session);
  }

  lastSeq(session: string): number {
    return (this.#select.get(session) as SummaryRow | undefined)?.last_seq ?? 0;
  }

  /** Writes a summary after an append. What only a session's first event sets is not written again. */
  put(summary: Summary): void {
    const { title, updatedAt, lastSeq, status, session } = summary;
    if (this.#update.run(title, updatedAt, lastSeq, status, session).changes) return;
    this.#insert.run(...toValues(summary));
  }

  delete(session: string): void {
    this.#delete.run(session);
  }

  /** Folds one session's events into its row. */
  rebuild(session: string): Summary | undefined {
    const bounds = this.#db
      .prepare(
        'select seq, at from events where session = ?1 and seq in (select min(seq) from events where session = ?1 union all select max(seq) from events where session = ?1) order by seq',
      )
      .all(session) as { seq: number; at: string }[];
    const first = bounds[0];
    const last = bounds.at(-1);
    if (!first || !last) return undefined;
    const summary = emptySummary(session, first.at);
    const types = SUMMARY_EVENTS.map((type: SessionEvent['type']) => `'${type}'`).join(', ');
    const rows = this.#db
      .prepare(`select ${EVENT_ROW} from events where session = ? and type in (${types}) order by seq`)
      .all(session) as EventRow[];
    for (const row of rows) {
      const event = decodeEvent(row);
      if (typeof event !== 'string') applyToSummary(summary, event);
    }
    summary.updatedAt = last.at;
    summary.lastSeq = last.seq;
    this.#insert.run(...toValues(summary));
    return summary;
  }

  /** Makes the whole table anew; returns the number of sessions. */
  rebuildAll(): number {
    this.#db.exec('delete from sessions');
    const next = this.#db.prepare('select min(session) as session from events where session > ?');
    let count = 0;
    for (let session = ''; ; count++) {
      const row = next.get(session) as { session: string | null };
      if (row.session === null) return count;
      session = row.session;
      this.rebuild(session);
    }
  }

  /** True for a store that has events and lists none, as after a change of the table's columns. */
  get lost(): boolean {
    const row = this.#db
      .prepare('select exists (select 1 from events) and not exists (select 1 from sessions) as lost')
      .get() as { lost: number };
    return row.lost === 1;
  }

  list(filter: ListFilter = {}, page?: Page): { sessions: SessionSummary[]; next?: string | undefined } {
    const paging = pagingOf(page);
    const key = paging.by === 'created' ? 'created_at' : 'updated_at';
    const where: string[] = [];
    const values: SqlValue[] = [Date.now()];
    const equals = (column: string, value: string | undefined) => {
      if (value === undefined) return;
      where.push(`${column} = ?`);
      values.push(value);
    };
    equals('kind', filter.kind);
    equals('root', filter.root);
    equals('parent_session', filter.parent?.session);
    equals('parent_call', filter.parent?.call);
    equals('cwd', filter.cwd);
    if (filter.open) where.push("status = 'open'");
    if (filter.idPrefix !== undefined) {
      where.push('sessions.session >= ? and sessions.session < ?');
      values.push(filter.idPrefix, `${filter.idPrefix}\u{10ffff}`);
    }
    if (paging.after) {
      where.push(`(${key}, sessions.session) ${paging.newest ? '<' : '>'} (?, ?)`);
      values.push(paging.after.time, paging.after.session);
    }
    const direction = paging.newest ? 'desc' : 'asc';
    const sql = `select ${COLUMNS.map((column) => `sessions.${column}`).join(', ')}, leases.owner as owner
      from sessions left join leases on leases.session = sessions.session and leases.expires > ?
      ${where.length > 0 ? `where ${where.join(' and ')}` : ''}
      order by ${key} ${direction}, sessions.session ${direction} limit ?`;
    const rows = this.#list(sql).all(...values, paging.limit + 1) as (SummaryRow & { owner: string | null })[];
    const sessions = rows.slice(0, paging.limit).map((row) => ({ ...fromRow(row), holder: holderOf(row.owner) }));
    const last = sessions.at(-1);
    return { sessions, next: last && rows.length > paging.limit ? cursorAfter(last, paging) : undefined };
  }

  #list(sql: string): Statement {
    let statement = this.#lists.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#lists.set(sql, statement);
    }
    return statement;
  }
}

const holderOf = (owner: string | null): string | undefined =>
  owner !== null && mayBeAlive(owner) ? owner : undefined;

function fromRow(row: SummaryRow): Summary {
  return {
    session: row.session,
    kind: row.kind,
    root: row.root,
    parent: row.parent_session === null ? undefined : { session: row.parent_session, call: row.parent_call ?? '' },
    skill: row.skill ?? undefined,
    title: row.title,
    cwd: row.cwd,
    model: row.model,
    depth: row.depth,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastSeq: row.last_seq,
    status: row.status,
  };
}

function toValues(summary: Summary): SqlValue[] {
  const row: SummaryRow = {
    session: summary.session,
    kind: summary.kind,
    root: summary.root,
    parent_session: summary.parent?.session ?? null,
    parent_call: summary.parent?.call ?? null,
    skill: summary.skill ?? null,
    title: summary.title,
    cwd: summary.cwd,
    model: summary.model,
    depth: summary.depth,
    created_at: summary.createdAt,
    updated_at: summary.updatedAt,
    last_seq: summary.lastSeq,
    status: summary.status,
  };
  return COLUMNS.map((column) => row[column]);
}
