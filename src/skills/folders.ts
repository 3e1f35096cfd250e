import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import { sep } from 'node:path';
import { sortedByCodePoint } from './names.ts';

/** What tells one state of a file from another. Times in milliseconds with fractions, finer than any clock that stamps files. */
export interface FileState {
  size: number;
  mtime: number;
  ctime: number;
  inode: number;
}

const QUIET = { throwIfNoEntry: false } as const;

/** What a path is once links are followed. */
export function kindOf(path: string): 'file' | 'folder' | 'other' | 'missing' | 'loop' | 'unreadable' {
  try {
    const stat = statSync(path, QUIET);
    if (stat === undefined) return 'missing';
    if (stat.isFile()) return 'file';
    return stat.isDirectory() ? 'folder' : 'other';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ELOOP' ? 'loop' : 'unreadable';
  }
}

/** The state of an ordinary file, links followed; `undefined` for everything else, readable or not. */
export function fileState(path: string): FileState | undefined {
  let stat: Stats | undefined;
  try {
    stat = statSync(path, QUIET);
  } catch {
    return undefined;
  }
  if (stat === undefined || !stat.isFile()) return undefined;
  return { size: stat.size, mtime: stat.mtimeMs, ctime: stat.ctimeMs, inode: stat.ino };
}

/** One entry of a folder, links already followed. */
export interface Entry {
  name: string;
  path: string;
  is: 'file' | 'folder' | 'other' | 'broken' | 'loop' | 'unreadable';
  isLink: boolean;
}

/** The entries by code point of their names. @throws the file system's error when it cannot be listed. */
export const listFolder = (path: string): Entry[] => entriesOf(path, readdirSync(path, { withFileTypes: true }));

/** The entries that were read from a folder, links followed, by code point of their names. */
export function entriesOf(folder: string, read: readonly Dirent[]): Entry[] {
  const entries = read.map((entry) => toEntry(folder, entry));
  return sortedByCodePoint(entries, (entry) => entry.name);
}

function toEntry(folder: string, entry: Dirent): Entry {
  const { name } = entry;
  const path = folder.endsWith(sep) ? folder + name : folder + sep + name;
  if (entry.isFile()) return { name, path, is: 'file', isLink: false };
  if (entry.isDirectory()) return { name, path, is: 'folder', isLink: false };
  // a link, or a file system that does not tell
  const isLink = entry.isSymbolicLink();
  const kind = kindOf(path);
  return { name, path, is: kind === 'missing' ? 'broken' : kind, isLink };
}

/** The path without links; itself when it cannot be resolved. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
