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

const stateOf = (stat: Stats): FileState => ({
  size: stat.size,
  mtime: stat.mtimeMs,
  ctime: stat.ctimeMs,
  inode: stat.ino,
});

/** What a path is once links are followed. */
export type Target =
  | { is: 'file'; state: FileState }
  | { is: 'folder' }
  | { is: 'other' | 'missing' }
  | { is: 'unreadable'; code: string };

export function targetOf(path: string): Target {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return { is: 'missing' };
    if (stat.isFile()) return { is: 'file', state: stateOf(stat) };
    return { is: stat.isDirectory() ? 'folder' : 'other' };
  } catch (error) {
    return { is: 'unreadable', code: (error as NodeJS.ErrnoException).code ?? 'EIO' };
  }
}

/** One entry of a folder, links already followed. */
export interface Entry {
  name: string;
  path: string;
  is: 'file' | 'folder' | 'other' | 'broken' | 'loop' | 'unreadable';
  isLink: boolean;
}

/** The entries by code point of their names. @throws the file system's error when it cannot be listed. */
export function listFolder(path: string): Entry[] {
  const entries = readdirSync(path, { withFileTypes: true }).map((entry) => toEntry(path, entry));
  return sortedByCodePoint(entries, (entry) => entry.name);
}

function toEntry(folder: string, entry: Dirent): Entry {
  const { name } = entry;
  const path = folder.endsWith(sep) ? folder + name : folder + sep + name;
  if (entry.isFile()) return { name, path, is: 'file', isLink: false };
  if (entry.isDirectory()) return { name, path, is: 'folder', isLink: false };
  // a link, or a file system that does not tell
  const isLink = entry.isSymbolicLink();
  const target = targetOf(path);
  if (target.is === 'missing') return { name, path, is: 'broken', isLink };
  if (target.is === 'unreadable') return { name, path, is: target.code === 'ELOOP' ? 'loop' : 'unreadable', isLink };
  return { name, path, is: target.is, isLink };
}

/** The path without links; itself when it cannot be resolved. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
