import { ReasonixError } from '../../core/errors.ts';
import type { Connection } from './connection.ts';

/**
 * `events` is the log and the truth; `sessions` can be rebuilt from it; `leases` say who may write;
 * `blobs` are bytes by their hash.
 * What an event says is kept beside the log when it is large, so that the log itself stays dense. Ids
 * are compared by their bytes, as in every other store.
 */
const MIGRATIONS = [
  `
  create table events (
    session text collate "C" not null,
    seq integer not null,
    at text not null,
    type text not null,
    data text,
    primary key (session, seq)
  );

  create table large_events (
    session text collate "C" not null,
    seq integer not null,
    data text not null,
    primary key (session, seq)
  );

  create table sessions (
    session text collate "C" primary key,
    kind text not null,
    root text collate "C" not null,
    parent_session text collate "C",
    parent_call text collate "C",
    skill text,
    title text not null,
    cwd text not null,
    model text not null,
    depth integer not null,
    created_at text collate "C" not null,
    updated_at text collate "C" not null,
    last_seq integer not null,
    status text not null
  ) with (fillfactor = 80);
  create index sessions_created on sessions (created_at, session);
  create index sessions_kind_created on sessions (kind, created_at, session);
  create index sessions_root on sessions (root, created_at, session);
  create index sessions_parent on sessions (parent_session, parent_call, created_at, session)
    where parent_session is not null;
  create index sessions_cwd on sessions (cwd, created_at, session);

  create table leases (
    session text collate "C" primary key,
    owner text,
    epoch integer not null,
    expires timestamptz not null
  ) with (fillfactor = 80);
  `,
  `
  create table blobs (
    hash text collate "C" primary key,
    used_at timestamptz not null default clock_timestamp(),
    data bytea not null
  );
  create index blobs_used on blobs (used_at);
  `,
  `
  create index sessions_open on sessions (root, created_at, session) where status = 'open';
  `,
];

/**
 * Brings an empty or older schema to the newest one. Of many processes that start at once, one does it.
 * @throws ReasonixError `store` when the schema belongs to a newer version.
 */
export async function migrate(connection: Connection): Promise<void> {
  const { schema } = connection;
  if ((await versionOf(connection)) === MIGRATIONS.length) return;
  await connection.transaction(async (query) => {
    await query(`select pg_advisory_xact_lock(hashtext('reasonix migration of ' || $1))`, [schema]);
    const version = await versionOf({ schema, query });
    if (version > MIGRATIONS.length) {
      throw new ReasonixError(
        'store',
        `the schema ${schema} was written by a newer version of Reasonix (schema ${version}, this one knows ${MIGRATIONS.length})`,
        { hint: 'update Reasonix' },
      );
    }
    if (version === MIGRATIONS.length) return;
    await query(`create schema if not exists ${schema}`);
    await query(`create table if not exists ${schema}.version (id integer primary key, version integer not null)`);
    // Every name of a migration is one of this schema, also behind a pooler that shares connections.
    await query(`set local search_path to ${schema}`);
    for (const sql of MIGRATIONS.slice(version)) await query(sql);
    await query(
      `insert into ${schema}.version (id, version) values (1, $1) on conflict (id) do update set version = excluded.version`,
      [MIGRATIONS.length],
    );
  });
}

async function versionOf({ schema, query }: Pick<Connection, 'schema' | 'query'>): Promise<number> {
  // Not by to_regclass: its cache does not see what another session has committed a moment ago.
  const found = await query(`select 1 from pg_catalog.pg_tables where schemaname = $1 and tablename = 'version'`, [
    schema,
  ]);
  if (found.length === 0) return 0;
  const [row] = await query<{ version: number }>(`select version from ${schema}.version`);
  return row?.version ?? 0;
}
