import { ReasonixError } from '../../core/errors.ts';
import type { Database } from './driver.ts';

/**
 * `events` is the log and the truth; `sessions` can be rebuilt from it; `leases` say who may write;
 * `blobs` are bytes by their hash. No
 * index has `updated_at`, which every append changes: to sort by it costs less than to keep it sorted.
 */
const MIGRATIONS = [
  `
  create table events (
    session text not null,
    seq integer not null,
    at text not null,
    type text not null,
    data text not null,
    primary key (session, seq)
  ) strict, without rowid;

  create table sessions (
    session text primary key,
    kind text not null,
    root text not null,
    parent_session text,
    parent_call text,
    skill text,
    title text not null,
    cwd text not null,
    model text not null,
    depth integer not null,
    created_at text not null,
    updated_at text not null,
    last_seq integer not null,
    status text not null
  ) strict, without rowid;
  create index sessions_created on sessions (created_at, session);
  create index sessions_kind_created on sessions (kind, created_at, session);
  create index sessions_root on sessions (root, created_at, session);
  create index sessions_parent on sessions (parent_session, parent_call, created_at, session)
    where parent_session is not null;
  create index sessions_cwd on sessions (cwd, created_at, session);

  create table leases (
    session text primary key,
    owner text,
    epoch integer not null,
    expires integer not null
  ) strict, without rowid;
  `,
  `
  create table blobs (
    hash text primary key,
    used_at integer not null,
    data blob not null
  ) strict;
  create index blobs_used on blobs (used_at);
  `,
];

/** Columns of an `EventRow`. To put `seq` and `at` into the JSON here is cheaper than to copy every event. */
export const EVENT_ROW = `seq, '{"seq":' || seq || ',"at":' || json_quote(at) || ',' || substr(data, 2) as json`;

/** Marks the file as ours: "RSNX". */
const APPLICATION_ID = 0x52534e58;

/**
 * Brings an empty or older file to the newest schema.
 * @throws ReasonixError `store` when the file belongs to a newer version or to another program.
 */
export function migrate(db: Database, path: string): void {
  if (checkOwnership(db, path) === MIGRATIONS.length) return;
  db.exec('begin immediate');
  try {
    // Another process may have been faster.
    for (const sql of MIGRATIONS.slice(checkOwnership(db, path))) db.exec(sql);
    db.exec(`pragma user_version = ${MIGRATIONS.length}; pragma application_id = ${APPLICATION_ID}`);
    db.exec('commit');
  } catch (error) {
    db.exec('rollback');
    throw error;
  }
}

/** The schema's version, 0 for an empty file; throws as `migrate` does. Changes nothing. */
export function checkOwnership(db: Database, path: string): number {
  const { user_version: version } = db.prepare('pragma user_version').get() as { user_version: number };
  const { application_id: application } = db.prepare('pragma application_id').get() as { application_id: number };
  const { tables } = db.prepare('select count(*) as tables from sqlite_schema').get() as { tables: number };
  if (application !== APPLICATION_ID && tables > 0) {
    throw new ReasonixError('store', `${path} is a database of another program`, {
      hint: 'name another file for the session store',
      details: { path },
    });
  }
  if (version > MIGRATIONS.length) {
    throw new ReasonixError(
      'store',
      `${path} was written by a newer version of Reasonix (schema ${version}, this one knows ${MIGRATIONS.length})`,
      { hint: 'update Reasonix', details: { path } },
    );
  }
  return version;
}
