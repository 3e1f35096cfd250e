import { constants } from 'node:fs';
import { lstat, open, readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { isLeftOut } from './entry-names.ts';
import { LIMITS } from './limits.ts';
import { refused } from './refused.ts';
import type { SourceEntry, SourceTree } from './tree.ts';

/** A folder on this machine. Links in it are never followed. */
export async function folderTree(path: string, signal: AbortSignal): Promise<SourceTree> {
  const base = await realpath(path);
  const entries: SourceEntry[] = [];
  await walk(base, '', entries, signal);
  return {
    name: basename(base),
    revision: null,
    entries,
    read: async (paths) => {
      const contents = new Map<string, Uint8Array>();
      for (const each of paths) contents.set(each, await readInside(join(base, each)));
      return contents;
    },
  };
}

async function walk(folder: string, prefix: string, entries: SourceEntry[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  for (const entry of await list(folder)) {
    const path = prefix + entry.name;
    if (isLeftOut(path)) continue;
    if (entries.length >= LIMITS.entries) {
      throw refused(`${folder} has more than ${LIMITS.entries} files`, 'name the folder of the skills');
    }
    if (entry.isDirectory()) {
      await walk(join(folder, entry.name), `${path}/`, entries, signal);
      continue;
    }
    const { size, mode } = await lstat(join(folder, entry.name));
    const kind = entry.isSymbolicLink() ? 'link' : entry.isFile() ? 'file' : 'other';
    entries.push({ path, kind, size, executable: kind === 'file' && (mode & 0o111) !== 0 });
  }
}

async function list(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    throw refused(`${folder} cannot be read: ${messageOf(error)}`, 'check its permissions', error);
  }
}

async function readInside(file: string): Promise<Uint8Array> {
  let handle: Awaited<ReturnType<typeof open>> | undefined;
  try {
    handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const { size } = await handle.stat();
    if (size > LIMITS.fileBytes) throw refused(`${file} has ${size} bytes, more than ${LIMITS.fileBytes}`);
    return await handle.readFile();
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw refused(`${file} cannot be read: ${messageOf(error)}`);
    throw error;
  } finally {
    await handle?.close();
  }
}
