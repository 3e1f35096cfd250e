import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { mayBeAlive, processOwner } from '../owner.ts';
import type { Database, Driver } from './driver.ts';
import { faultOf } from './faults.ts';
import { salvage } from './salvage.ts';
import { migrate } from './schema.ts';
import { Summaries } from './summaries.ts';

export interface Replacement {
  path: string;
  driver: Driver;
  onProblem: (text: string) => void;
  /** Opens `path`; throws while it is damaged. */
  connect: () => Promise<Database>;
}

/** SQLite's default, which we never change. */
const PAGE_SIZE = 4096;

/** The files of a database. */
const SUFFIXES = ['', '-wal', '-shm'];

/**
 * Sets a damaged database aside and makes a new one with every event that can still be read. One
 * process does it; others that come meanwhile wait and find the new file.
 */
export async function replaceDamaged({ path, driver, onProblem, connect }: Replacement): Promise<void> {
  const release = await lock(`${path}.recovery`);
  try {
    try {
      (await connect()).close();
      return;
    } catch (error) {
      if (faultOf(error) !== 'corrupt') throw error;
      const aside = moveAside(path);
      onProblem(`${path} is damaged (${messageOf(error)}); it is kept as ${aside} and a new one was begun`);
      const db = await connect();
      try {
        onProblem(recoverInto(db, aside, driver));
      } finally {
        db.close();
      }
    }
  } finally {
    release();
  }
}

function moveAside(path: string): string {
  const aside = `${path}.corrupt-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  for (const suffix of SUFFIXES) {
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  }
  return aside;
}

/** Works on copies, because even opening a database may change it. Returns what to say about it. */
function recoverInto(db: Database, aside: string, driver: Driver): string {
  const folder = mkdtempSync(join(dirname(aside), '.recovery-'));
  const copyOf = (name: string): string => {
    for (const suffix of ['', '-wal']) {
      if (existsSync(aside + suffix)) copyFileSync(aside + suffix, join(folder, name + suffix));
    }
    return join(folder, name);
  };
  try {
    let found = salvage(driver, copyOf('as-is.db'), db);
    if (found.events === 0) {
      const repaired = copyOf('repaired.db');
      transplantFirstPage(driver, repaired, join(folder, 'fresh.db'));
      found = salvage(driver, repaired, db);
    }
    new Summaries(db).rebuildAll();
    if (found.events > 0) {
      return `${found.events} events of ${found.sessions} sessions were recovered from ${aside}`;
    }
    return `no event of ${aside} could be read`;
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * The first page says where the tables begin, and a new database of the same schema has them at the
 * same places: with its first page the rest of a file that lost its own becomes readable again.
 */
function transplantFirstPage(driver: Driver, path: string, fresh: string): void {
  const db = driver.open(fresh);
  try {
    db.exec('pragma journal_mode = wal');
    migrate(db, fresh);
    db.exec('pragma wal_checkpoint(truncate)');
  } finally {
    db.close();
  }
  const page = readFileSync(fresh).subarray(0, PAGE_SIZE);
  // No size in the header: the one of the file counts.
  page.writeUInt32BE(0, 28);
  const file = openSync(path, 'r+');
  try {
    writeSync(file, page, 0, page.length, 0);
  } finally {
    closeSync(file);
  }
}

/** A lock file with the name of its owner; one whose owner is dead is taken over. */
async function lock(file: string): Promise<() => void> {
  const owner = processOwner();
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      writeFileSync(file, owner, { flag: 'wx', mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readIfThere(file);
    if (holder && !mayBeAlive(holder)) rmSync(file, { force: true });
    else if (performance.now() > deadline) {
      throw new ReasonixError('store', `${file} says that another process is repairing the session store`, {
        hint: `when none is, remove ${file}`,
      });
    }
    await delay(20);
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
