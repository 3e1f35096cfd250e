import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, mkdir, open, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KeyedQueue } from '../core/keyed-queue.ts';
import { problem } from './tool-problem.ts';

/** Bytes of the file that was there before, `undefined` when there was none. */
export type Replaced = number | undefined;

/**
 * Writes a whole file so that readers and a crash see the old one or the new one, never a part: a
 * temporary file beside it, flushed, then renamed over it. An existing file keeps its mode; missing
 * folders are made.
 */
export async function writeAtomically(real: string, bytes: Uint8Array, shown: string): Promise<Replaced> {
  const existing = await stat(real).catch(() => undefined);
  if (existing?.isDirectory()) throw problem('folder-not-file', { path: shown });
  if (existing && !existing.isFile()) throw problem('not-replaceable', { path: shown });
  // A rename would get past the write protection of the file.
  if (existing) await access(real, constants.W_OK);
  const folder = dirname(real);
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `.${basename(real).slice(0, 100)}.${randomBytes(6).toString('hex')}.tmp`);
  const handle = await open(temporary, 'wx');
  try {
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (existing) await chmod(temporary, existing.mode & 0o7777);
    await rename(temporary, real);
  } catch (error) {
    await unlink(temporary).catch(() => {});
    throw error;
  }
  return existing?.size;
}

const changes = new KeyedQueue();

/** Runs the changes of one file one after the other, those of sessions that run side by side too. */
export const oneAtATime = <T>(real: string, change: () => Promise<T>): Promise<T> => changes.run(real, change);
