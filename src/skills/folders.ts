import { type Dirent, readdirSync, realpathSync, type Stats, statfsSync, statSync } from 'node:fs';
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

/** What the file system says of an ordinary file, links followed; `undefined` for everything else, readable or not. */
export function statFile(path: string): Stats | undefined {
  try {
    const stat = statSync(path, QUIET);
    return stat?.isFile() ? stat : undefined;
  } catch {
    return undefined;
  }
}

const stateOf = (stat: Stats): FileState => ({
  size: stat.size,
  mtime: stat.mtimeMs,
  ctime: stat.ctimeMs,
  inode: stat.ino,
});

/** The state of an ordinary file; `undefined` for everything else. */
export function fileState(path: string): FileState | undefined {
  const stat = statFile(path);
  return stat && stateOf(stat);
}

/** The state of a folder, links followed: another one when an entry comes, goes or is replaced. `undefined` for everything else. */
export function folderState(path: string): FileState | undefined {
  try {
    const stat = statSync(path, QUIET);
    return stat?.isDirectory() ? stateOf(stat) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether a state taken before `readAt` stands for what was read then. A file that changed at about
 * that time may have changed once more within the same tick of its clock, so that only its bytes can tell.
 */
export function isSettled({ mtime, ctime }: Pick<FileState, 'mtime' | 'ctime'>, readAt: number): boolean {
  const age = readAt - Math.max(ctime, mtime);
  if (age > COARSE_TICK || age <= FINE_TICK) return age > COARSE_TICK;
  return ctime % 1_000 !== 0 || mtime % 1_000 !== 0;
}

/** Milliseconds within which two changes may get one time, where clocks count seconds and where they count finely. */
const COARSE_TICK = 2_500;
const FINE_TICK = 50;

/**
 * Whether a folder gets another time when something in it comes or goes. Not so on FAT, as Windows
 * writes it, nor with some drivers outside the kernel; the times of some folders are not kept at all.
 */
export function stampsFolders(path: string, { ctime }: Pick<FileState, 'ctime'>): boolean {
  if (process.platform === 'win32' || ctime <= 0) return false;
  try {
    return !UNSURE.has(statfsSync(path).type);
  } catch {
    return false;
  }
}

/** As Linux numbers them: FAT, exFAT, FUSE (object stores among them), and what a virtual machine shares by 9P. */
const UNSURE: ReadonlySet<number> = new Set([0x4d44, 0x2011bab0, 0x65735546, 0x01021997]);

/** One entry of a folder, links already followed. */
export interface Entry {
  name: string;
  path: string;
  is: 'file' | 'folder' | 'other' | 'broken' | 'loop' | 'unreadable';
  isLink: boolean;
}

/** What the paths of all that is in a folder begin with. */
export const prefixOf = (folder: string): string => (folder.endsWith(sep) ? folder : folder + sep);

/** The entries by code point of their names. @throws the file system's error when it cannot be listed. */
export const listFolder = (path: string): Entry[] => entriesOf(path, readdirSync(path, { withFileTypes: true }));

/** The entries that were read from a folder, links followed, by code point of their names. */
export function entriesOf(folder: string, read: readonly Dirent[]): Entry[] {
  const before = prefixOf(folder);
  return sortedByCodePoint(read, (entry) => entry.name).map((entry) => toEntry(before, entry));
}

function toEntry(before: string, entry: Dirent): Entry {
  const { name } = entry;
  const path = before + name;
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
