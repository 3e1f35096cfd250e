import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';
import { blobHash } from '../../store/blobs.ts';
import { type BlobStore, hasBlobs, type SessionStore } from '../../store/contract.ts';
import { Patience } from '../patience.ts';

/** A file that must be there, with its bytes in the store. */
export interface WantedFile {
  path: string;
  hash: string;
  size: number;
  executable?: true | undefined;
}

/** Bytes that are read at once. */
const BATCH = 8 * 1024 * 1024;
const MOST_IN_BATCH = 1_000;
const MOST_ATTEMPTS = 3;

/** @throws ReasonixError `config` when the store keeps no blobs. */
export function blobsOf(store: SessionStore): BlobStore {
  if (hasBlobs(store)) return store;
  throw new ReasonixError('config', 'this store cannot keep skills for other machines', {
    hint: 'use the Postgres or the SQLite store, or give your own the methods of BlobStore',
  });
}

/** @throws ReasonixError `store_corrupt` when the store has lost it, or has other bytes. */
export function checked(bytes: Uint8Array | undefined, hash: string, what: string): Uint8Array {
  if (bytes && blobHash(bytes) === hash) return bytes;
  const why = bytes ? 'are damaged in the store' : 'are not in the store';
  throw new ReasonixError('store_corrupt', `${what} ${why} (${hash})`, {
    hint: 'restore the store from a copy, or start a new session, which packs the skills again',
  });
}

/**
 * Makes every file that is not there. Each appears whole, whoever else makes the same ones, and it is
 * done again when somebody empties the folder meanwhile. `temporary` is a folder of the same disk.
 */
export async function makeFiles(files: readonly WantedFile[], store: SessionStore, temporary: string): Promise<void> {
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const wanted = await absent(files);
    if (wanted.length === 0) return;
    try {
      mkdirSync(temporary, { recursive: true, mode: 0o700 });
      await writeAll(wanted, blobsOf(store), await mkdtemp(join(temporary, '.new-')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

async function absent(files: readonly WantedFile[]): Promise<WantedFile[]> {
  const patience = new Patience();
  const gone: WantedFile[] = [];
  for (const [index, file] of files.entries()) {
    const stat = statSync(file.path, { throwIfNoEntry: false });
    if (stat?.size !== file.size || !stat.isFile()) gone.push(file);
    if (index % 128 === 127) await patience.pause();
  }
  return gone;
}

async function writeAll(files: readonly WantedFile[], store: BlobStore, temporary: string): Promise<void> {
  const patience = new Patience();
  const folders = new Set<string>();
  try {
    for (const batch of batches(files)) {
      const found = await store.readBlobs([...new Set(batch.map(({ hash }) => hash))]);
      for (const [index, { path, hash, executable }] of batch.entries()) {
        const bytes = checked(found.get(hash), hash, `the bytes of ${path}`);
        const folder = dirname(path);
        if (!folders.has(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
        folders.add(folder);
        const made = join(temporary, String(index));
        writeFileSync(made, bytes, { mode: executable ? 0o700 : 0o600 });
        put(made, path);
        if (index % 32 === 31) await patience.pause();
      }
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Something else may stand there: a folder, or a file that another system holds open. */
function put(made: string, path: string): void {
  try {
    renameSync(made, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
    rmSync(path, { recursive: true, force: true });
    renameSync(made, path);
  }
}

function* batches(files: readonly WantedFile[]): Generator<WantedFile[]> {
  let batch: WantedFile[] = [];
  let size = 0;
  for (const file of files) {
    if (batch.length > 0 && (size + file.size > BATCH || batch.length === MOST_IN_BATCH)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(file);
    size += file.size;
  }
  if (batch.length > 0) yield batch;
}
