import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { LOCK_WAIT, retryWhileBusy } from './commit-queue.ts';
import { type Database, type Driver, sqliteDriver } from './driver.ts';
import { faultOf } from './faults.ts';
import { replaceDamaged } from './recover.ts';
import { checkOwnership, migrate } from './schema.ts';

export interface OpenOptions {
  path: string;
  /** The folder of the file is ours alone, so its permissions are narrowed too. */
  ownFolder: boolean;
  busyTimeout: number;
  maxPages: number | undefined;
  onProblem: (text: string) => void;
}

/** Opens the file, making it when it is missing and setting it aside when it is damaged. */
export async function openDatabase(options: OpenOptions): Promise<Database> {
  const driver = await sqliteDriver();
  makePrivate(options.path, options.ownFolder);
  try {
    return await connect(driver, options);
  } catch (error) {
    if (faultOf(error) !== 'corrupt') throw error;
  }
  await replaceDamaged({
    path: options.path,
    driver,
    onProblem: options.onProblem,
    connect: () => {
      makePrivate(options.path, options.ownFolder);
      return connect(driver, options);
    },
  });
  return connect(driver, options);
}

async function connect(driver: Driver, { path, busyTimeout, maxPages }: OpenOptions): Promise<Database> {
  const db = driver.open(path);
  try {
    await retryWhileBusy(() => {
      db.exec(`pragma busy_timeout = ${LOCK_WAIT}`);
      checkOwnership(db, path);
      db.exec('pragma journal_mode = wal');
      db.exec('pragma synchronous = full; pragma cache_size = -8000; pragma journal_size_limit = 16777216');
      if (maxPages !== undefined) db.exec(`pragma max_page_count = ${maxPages}`);
      migrate(db, path);
      // Touches the roots of all tables: a torn file shows here rather than in the middle of a turn.
      db.prepare(
        'select (select max(session) from events), (select max(session) from sessions), (select max(session) from leases)',
      ).get();
    }, busyTimeout);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Makes the folder 0700 and the file 0600. SQLite gives `-wal` and `-shm` the permissions of the file. */
function makePrivate(path: string, ownFolder: boolean): void {
  const folder = dirname(path);
  makeFolder(folder);
  if (ownFolder) narrow(folder, 0o700);
  closeSync(openSync(path, 'a', 0o600));
  narrow(path, 0o600);
}

/** One folder at a time: Node's own way hides why a read-only disk refuses, and never ends in /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function narrow(path: string, mode: number): void {
  const others = statSync(path).mode & 0o777 & ~mode;
  if (process.platform !== 'win32' && others !== 0) chmodSync(path, mode);
}
