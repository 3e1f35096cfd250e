import { lstat, readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { hashOf } from '../hash.ts';
import { compareCodePoints } from '../names.ts';
import { isLeftOut } from './entry-names.ts';
import { LIMITS } from './limits.ts';

/** One file of an installed skill. */
export interface FileMark {
  /** SHA-256 of the bytes, hex; `link` or `other` for what is no ordinary file. */
  hash: string;
  executable: boolean;
}

/** By path from the skill's folder, with `/`. */
export type FileMarks = ReadonlyMap<string, FileMark>;

export type Installed =
  | { is: 'missing' }
  /** A link, a device, or what cannot be read: nothing that we wrote. */
  | { is: 'foreign'; what: string }
  | { is: 'present'; files: FileMarks; content: string };

/** What lies at a skill's place now. Links are not followed. Files that systems and interpreters strew about do not count. */
export async function readInstalled(path: string): Promise<Installed> {
  try {
    const state = await lstat(path);
    if (state.isSymbolicLink()) return { is: 'foreign', what: 'a link' };
    if (!state.isFile() && !state.isDirectory()) return { is: 'foreign', what: 'no file and no folder' };
    const files = new Map<string, FileMark>();
    if (state.isFile()) files.set(basename(path), await markOf(path, state.mode));
    else await walk(path, '', files);
    return { is: 'present', files, content: await contentOf(files) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { is: 'missing' };
    return { is: 'foreign', what: `not readable (${code ?? String(error)})` };
  }
}

async function walk(folder: string, prefix: string, files: Map<string, FileMark>): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = prefix + entry.name;
    if (isLeftOut(path)) continue;
    const full = join(folder, entry.name);
    if (entry.isDirectory()) await walk(full, `${path}/`, files);
    else if (!entry.isFile()) files.set(path, { hash: entry.isSymbolicLink() ? 'link' : 'other', executable: false });
    else files.set(path, await markOf(full, (await lstat(full)).mode));
    // far more than was ever installed: whatever the rest is, the skill is not what it was
    if (files.size > 4 * LIMITS.files) return;
  }
}

const markOf = async (file: string, mode: number): Promise<FileMark> => ({
  hash: await hashOf(await readFile(file)),
  executable: isExecutable(mode),
});

/** Windows has no such bit. */
const isExecutable = (mode: number): boolean => process.platform !== 'win32' && (mode & 0o111) !== 0;

/** One hash for names, bytes and modes of all files. */
export function contentOf(files: FileMarks): Promise<string> {
  const lines = [...files.keys()].sort(compareCodePoints).map((path) => {
    const { hash, executable } = files.get(path)!;
    return `${hash} ${executable ? 'x' : '-'} ${JSON.stringify(path)}\n`;
  });
  return hashOf(lines.join(''));
}

export interface FileChanges {
  added: string[];
  removed: string[];
  changed: string[];
  /** Same bytes, but may be run now, or not any more. */
  modes: string[];
}

export function changesOf(before: FileMarks, now: FileMarks): FileChanges {
  const changes: FileChanges = { added: [], removed: [], changed: [], modes: [] };
  for (const [path, mark] of now) {
    const old = before.get(path);
    if (old === undefined) changes.added.push(path);
    else if (old.hash !== mark.hash) changes.changed.push(path);
    else if (old.executable !== mark.executable) changes.modes.push(path);
  }
  for (const path of before.keys()) if (!now.has(path)) changes.removed.push(path);
  for (const list of Object.values(changes) as string[][]) list.sort(compareCodePoints);
  return changes;
}

export const isChanged = (changes: FileChanges): boolean => Object.values(changes).some((list) => list.length > 0);
