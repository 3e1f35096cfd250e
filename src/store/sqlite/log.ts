import type { StoredEvent } from '../../core/events.ts';
import { decodeRows, type EncodedEvent, type EventRow, ReadReport, stored } from '../codec.ts';
import type { Lease } from '../contract.ts';
import { outrun } from '../errors.ts';
import type { Tail } from '../followers.ts';
import { applyToSummary, emptySummary } from '../summary.ts';
import type { Database, Statement } from './driver.ts';
import { faultOf } from './faults.ts';
import type { Leases } from './leases.ts';
import { EVENT_ROW } from './schema.ts';
import type { Summaries } from './summaries.ts';

/** Rows read at once: few enough that their texts are gone before the next ones come. */
const CHUNK = 256;

/** The table of events: the truth of the store. */
export class Log {
  readonly #summaries: Summaries;
  readonly #leases: Leases;
  readonly #path: string;
  readonly #lastSeq: Statement;
  readonly #insert: Statement;
  readonly #select: Statement;
  readonly #selectOne: Statement;
  readonly #delete: Statement;

  constructor(db: Database, path: string, summaries: Summaries, leases: Leases) {
    this.#summaries = summaries;
    this.#leases = leases;
    this.#path = path;
    this.#lastSeq = db.prepare('select max(seq) as seq from events where session = ?');
    this.#insert = db.prepare('insert into events (session, seq, at, type, data) values (?, ?, ?, ?, ?)');
    this.#select = db.prepare(
      `select ${EVENT_ROW} from events where session = ? and seq > ? order by seq limit ${CHUNK}`,
    );
    this.#selectOne = db.prepare(`select ${EVENT_ROW} from events where session = ? and seq = ?`);
    this.#delete = db.prepare('delete from events where session = ?');
  }

  /** Inside a transaction. */
  append(
    session: string,
    expectedSeq: number,
    encoded: readonly EncodedEvent[],
    lease: Lease | undefined,
  ): StoredEvent[] {
    this.#leases.authorize(session, lease);
    const lastSeq = this.lastSeq(session);
    if (lastSeq !== expectedSeq && !this.#unreadableAfter(session, expectedSeq, lastSeq)) {
      throw outrun(session, expectedSeq, lastSeq, this.#leases.holder(session));
    }
    if (encoded.length === 0) return [];
    const at = new Date().toISOString();
    const summary = this.#summaries.current(session, lastSeq) ?? emptySummary(session, at);
    const appended = encoded.map(({ type, data, event }, index) => {
      const seq = lastSeq + 1 + index;
      this.#insert.run(session, seq, at, type, data);
      const result = stored(event, seq, at);
      applyToSummary(summary, result);
      return result;
    });
    this.#summaries.put(summary);
    return appended;
  }

  lastSeq(session: string): number {
    return (this.#lastSeq.get(session) as { seq: number | null }).seq ?? 0;
  }

  /** Events after `fromSeq`; what cannot be read is left out and reported. */
  read(session: string, fromSeq: number, onProblem: (text: string) => void): Tail {
    const report = new ReadReport(session);
    const events: StoredEvent[] = [];
    let lastSeq = fromSeq;
    for (;;) {
      const rows = this.#rowsAfter(session, lastSeq, report);
      decodeRows(rows, lastSeq, events, report);
      lastSeq = rows.at(-1)?.seq ?? lastSeq;
      if (rows.length < CHUNK) break;
    }
    report.send(onProblem);
    return { events, lastSeq };
  }

  delete(session: string): void {
    this.#delete.run(session);
    this.#summaries.delete(session);
    this.#leases.delete(session);
  }

  /** Whoever could not read the last events may still go on after them. */
  #unreadableAfter(session: string, expectedSeq: number, lastSeq: number): boolean {
    if (lastSeq <= expectedSeq || expectedSeq === 0) return false;
    return this.read(session, expectedSeq, () => {}).events.length === 0;
  }

  /** The next rows: fewer than a chunk of them at the end only. */
  #rowsAfter(session: string, fromSeq: number, report: ReadReport): EventRow[] {
    try {
      return this.#select.all(session, fromSeq) as EventRow[];
    } catch (error) {
      if (faultOf(error) !== 'corrupt') throw error;
      report.damage(this.#path);
      return this.#rowsOneByOne(session, fromSeq, error);
    }
  }

  #rowsOneByOne(session: string, fromSeq: number, error: unknown): EventRow[] {
    const lastSeq = this.#summaries.lastSeq(session);
    const rows: EventRow[] = [];
    for (let seq = fromSeq + 1; seq <= lastSeq && rows.length < CHUNK; seq++) {
      try {
        const row = this.#selectOne.get(session, seq) as EventRow | undefined;
        if (row) rows.push(row);
      } catch (cause) {
        if (faultOf(cause) !== 'corrupt') throw cause;
      }
    }
    if (rows.length === 0 && fromSeq === 0) throw error;
    return rows;
  }
}
