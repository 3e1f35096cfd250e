import type { Database, Driver, Statement } from './driver.ts';
import { faultOf } from './faults.ts';

interface Row {
  session: string;
  seq: number;
  at: string;
  type: string;
  data: string;
}

const COLUMNS = 'session, seq, at, type, data';
const CHUNK = 200;

/**
 * Copies every event that can be read in the damaged file `from` into `to`: from the start up to the
 * first damage, from the end back to the last one, and between them one by one for the sessions that
 * are known by name.
 */
export function salvage(driver: Driver, from: string, to: Database): { events: number; sessions: number } {
  const source = driver.open(from);
  const insert = to.prepare(`insert or ignore into events (${COLUMNS}) values (?, ?, ?, ?, ?)`);
  let events = 0;
  const keep = (row: Row) => {
    if (typeof row.data !== 'string' || typeof row.session !== 'string') return;
    events += Number(insert.run(row.session, row.seq, row.at, row.type, row.data).changes);
  };
  to.exec('begin immediate');
  try {
    // Tolerates a file that is shorter than it says it is.
    source.exec('pragma writable_schema = on; pragma cell_size_check = on');
    if (!copyInOrder(source, 'asc', keep)) {
      copyInOrder(source, 'desc', keep);
      copyOneByOne(source, to, keep);
    }
    to.exec('commit');
  } catch (error) {
    to.exec('rollback');
    throw error;
  } finally {
    source.close();
  }
  const { sessions } = to.prepare('select count(distinct session) as sessions from events').get() as {
    sessions: number;
  };
  return { events, sessions };
}

/** Returns whether the other end was reached. */
function copyInOrder(source: Database, direction: 'asc' | 'desc', keep: (row: Row) => void): boolean {
  const after = direction === 'asc' ? '>' : '<';
  const order = `order by session ${direction}, seq ${direction}`;
  const first = tolerant(source, `select ${COLUMNS} from events ${order} limit ?`);
  const next = tolerant(source, `select ${COLUMNS} from events where (session, seq) ${after} (?, ?) ${order} limit ?`);
  let last: Row | undefined;
  for (let size = CHUNK; ; ) {
    const rows = last ? next(last.session, last.seq, size) : first(size);
    if (rows === undefined) {
      if (size === 1) return false;
      size = 1;
      continue;
    }
    for (const row of rows) keep(row);
    if (rows.length < size) return true;
    last = rows.at(-1);
  }
}

function copyOneByOne(source: Database, to: Database, keep: (row: Row) => void): void {
  const names = new Map<string, number>();
  const note = (rows: { session: string; seq: number }[] | undefined) => {
    for (const { session, seq } of rows ?? []) names.set(session, Math.max(seq, names.get(session) ?? 0));
  };
  note(
    to.prepare('select session, max(seq) as seq from events group by session').all() as {
      session: string;
      seq: number;
    }[],
  );
  for (const order of ['created_at', 'created_at desc', 'session', 'session desc']) {
    note(eachUntilDamage(source, `select session, last_seq as seq from sessions order by ${order}`));
  }
  const have = to.prepare('select 1 from events where session = ? and seq = ?');
  const get = tolerant(source, `select ${COLUMNS} from events where session = ? and seq = ?`);
  for (const [session, lastSeq] of names) {
    for (let seq = 1; seq <= lastSeq; seq++) {
      if (have.get(session, seq)) continue;
      for (const row of get(session, seq) ?? []) keep(row);
    }
  }
}

function eachUntilDamage(source: Database, sql: string): { session: string; seq: number }[] {
  const found: { session: string; seq: number }[] = [];
  const one = tolerant(source, `${sql} limit 1 offset ?`);
  for (;;) {
    const rows = one(found.length) as { session: string; seq: number }[] | undefined;
    if (!rows?.[0]) return found;
    found.push(rows[0]);
  }
}

/** A query that answers undefined where the file is damaged. */
function tolerant(source: Database, sql: string): (...values: (string | number)[]) => Row[] | undefined {
  let statement: Statement;
  try {
    statement = source.prepare(sql);
  } catch (error) {
    if (faultOf(error) === 'full' || faultOf(error) === 'busy') throw error;
    return () => undefined;
  }
  return (...values) => {
    try {
      return statement.all(...values) as Row[];
    } catch (error) {
      if (faultOf(error) === 'busy') throw error;
      return undefined;
    }
  };
}
