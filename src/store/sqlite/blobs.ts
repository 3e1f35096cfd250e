import type { Database, Statement } from './driver.ts';

/** How old the last use of a blob may be before another use is written down, in milliseconds: that writes the whole blob. */
const FRESH = 600_000;

/** The table of blobs. Lists of hashes go in as JSON: a statement takes only so many values. */
export class Blobs {
  readonly #put: Statement;
  readonly #touch: Statement;
  readonly #missing: Statement;
  readonly #read: Statement;
  readonly #named: Statement;
  readonly #drop: Statement;

  constructor(db: Database) {
    this.#put = db.prepare('insert into blobs (hash, used_at, data) values (?, ?, ?) on conflict (hash) do nothing');
    this.#touch = db.prepare(
      'update blobs set used_at = ? where hash in (select value from json_each(?)) and used_at < ?',
    );
    this.#missing = db.prepare(
      'select value as hash from json_each(?) as given where not exists (select 1 from blobs where hash = given.value)',
    );
    this.#read = db.prepare('select hash, data from blobs where hash in (select value from json_each(?))');
    // The first event of each log by its key: the table of events is far larger than that of sessions.
    this.#named = db.prepare(`
      select distinct json_extract(data, '$.library') as library from sessions
      join events on events.session = sessions.session and events.seq = 1
      where json_valid(data) and json_type(data, '$.library') = 'text'`);
    this.#drop = db.prepare('delete from blobs where used_at < ? and hash not in (select value from json_each(?))');
  }

  put(blobs: ReadonlyMap<string, Uint8Array>): void {
    const now = Date.now();
    for (const [hash, bytes] of blobs) this.#put.run(hash, now, bytes);
    this.#use([...blobs.keys()]);
  }

  missing(hashes: readonly string[]): string[] {
    this.#use(hashes);
    return (this.#missing.all(JSON.stringify(hashes)) as { hash: string }[]).map(({ hash }) => hash);
  }

  read(hashes: readonly string[]): Map<string, Uint8Array> {
    const rows = this.#read.all(JSON.stringify(hashes)) as { hash: string; data: Uint8Array }[];
    return new Map(rows.map(({ hash, data }) => [hash, data]));
  }

  named(): string[] {
    return (this.#named.all() as { library: string }[]).map(({ library }) => library);
  }

  drop(kept: ReadonlySet<string>, unusedFor: number): number {
    return Number(this.#drop.run(Date.now() - unusedFor, JSON.stringify([...kept])).changes);
  }

  #use(hashes: readonly string[]): void {
    const now = Date.now();
    this.#touch.run(now, JSON.stringify(hashes), now - FRESH);
  }
}
