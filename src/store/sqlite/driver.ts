import { messageOf, ReasonixError } from '../../core/errors.ts';

/** The part of `node:sqlite` that the store uses; `@photostructure/sqlite` has the same. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}

export type SqlValue = string | number | Uint8Array | null;

export interface Statement {
  run(...values: SqlValue[]): { changes: number | bigint };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

export interface Driver {
  name: 'node:sqlite' | '@photostructure/sqlite';
  open(path: string): Database;
}

interface SqliteModule {
  DatabaseSync: new (path: string, options?: { defensive?: boolean }) => Database;
}

/** The oldest SQLite whose write-ahead log is not damaged when two processes restart it at once. */
const SAFE_SQLITE = [3, 51, 3];

let chosen: Promise<Driver> | undefined;

/** The SQLite of node itself where it is new enough, else the one that comes prebuilt in a package. */
export function sqliteDriver(): Promise<Driver> {
  chosen ??= choose();
  return chosen;
}

async function choose(): Promise<Driver> {
  if (atLeast(process.versions.sqlite, SAFE_SQLITE)) {
    const module = builtin();
    if (module) return driver('node:sqlite', module);
  }
  try {
    return driver('@photostructure/sqlite', await import('@photostructure/sqlite'));
  } catch (error) {
    const module = builtin();
    if (module) return driver('node:sqlite', module);
    throw new ReasonixError('store', `SQLite cannot be loaded on this machine: ${messageOf(error)}`, {
      hint: 'use Node 24 or newer, which has SQLite built in, or reinstall the package',
      cause: error,
    });
  }
}

function driver(name: Driver['name'], { DatabaseSync }: SqliteModule): Driver {
  // Recovery must be able to open a damaged file, which the defensive mode of newer nodes refuses.
  return { name, open: (path) => new DatabaseSync(path, { defensive: false }) };
}

/** Loads `node:sqlite` without the warning that it is experimental, which is no news to the user of a command. */
function builtin(): SqliteModule | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (id: string) => SqliteModule | undefined };
  if (!getBuiltinModule) return undefined;
  const { emitWarning } = process;
  process.emitWarning = (() => {}) as typeof process.emitWarning;
  try {
    return getBuiltinModule('node:sqlite');
  } catch {
    return undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function atLeast(version: string | undefined, wanted: readonly number[]): boolean {
  if (version === undefined) return false;
  const parts = version.split('.').map(Number);
  for (const [index, want] of wanted.entries()) {
    const part = parts[index] ?? 0;
    if (part !== want) return part > want;
  }
  return true;
}
