import type { FollowableStore } from '../store/contract.ts';
import type { PostgresStoreOptions } from '../store/postgres.ts';
import type { SqliteStore, SqliteStoreOptions } from '../store/sqlite.ts';
import type { RuntimeOptions } from './options.ts';
import type { Runtime } from './runtime.ts';

// What the library opens is loaded when it is opened, so that importing it costs a program little.

/**
 * Opens a runtime: reads the configuration, opens the store, and wires engine, skills, tools and
 * middleware. Close it when done; an open one keeps no process alive.
 * @throws ReasonixError `config` for a configuration that does not hold, `store` when the store cannot be opened.
 * @example
 * const runtime = await openRuntime({ cwd: '/my/project' });
 * const { answer } = await runtime.skill('explore').run('Where are dates parsed?');
 * await runtime.close();
 */
export async function openRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  return (await import('./open-runtime.ts')).openRuntime(options);
}

/**
 * Opens the embedded store, making its file when it is missing. A damaged file is kept beside the new one,
 * which gets every event that can still be read; `onProblem` is told.
 * @throws ReasonixError `store` when the folder cannot be written or the file is not ours.
 */
export async function openSqliteStore(options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  return (await import('../store/sqlite.ts')).openSqliteStore(options);
}

/**
 * Opens the store that many machines share, making its tables when they are missing.
 * @throws ReasonixError `config` without the package `pg` or with a bad schema name; `store` when the
 * server cannot be reached or the tables belong to a newer version.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<FollowableStore> {
  return (await import('../store/postgres.ts')).openPostgresStore(options);
}
