import { copyFile, lstat, mkdtemp, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { git, gitLine, gitPaths, pathIn } from './git.ts';
import { gitFolder } from './git-folder.ts';
import { problem } from './problem.ts';
import type { Repository } from './repository.ts';

/** What is carried between a folder and a worktree beside what is committed: files, and bytes together. */
const MOST_FILES = 20_000;
const MEBIBYTE = 1024 * 1024;
const MOST_BYTES = 256 * MEBIBYTE;

/**
 * Gives `use` a copy of the index of a working tree, so that neither the index nor the files of it
 * are touched. The copy keeps the time of the original: git tells by it which files it has to compare.
 */
export async function withIndex<T>(top: string, use: (index: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'reasonix-index-'));
  try {
    const index = join(folder, 'index');
    const original = join((await gitFolder(top)) ?? top, 'index');
    const state = await stat(original).catch(() => undefined);
    if (state?.isFile()) {
      await copyFile(original, index);
      await utimes(index, state.atime, Math.floor(state.mtimeMs) / 1_000);
    } else {
      await git(top, ['read-tree', 'HEAD'], { index });
    }
    return await use(index);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The tree of everything that is in a working tree now, ignored files left out: what is tracked as it
 * is on disk, and new files. `index` is brought to that state.
 * @throws ReasonixError `worktree` when that is more than is carried over.
 */
export async function treeNow(top: string, index: string): Promise<string> {
  const listed = await gitPaths(top, ['ls-files', '-z', '-m', '-d', '-o', '--exclude-standard'], { index });
  // A name with a slash at its end is a repository in the repository.
  const paths = [...new Set(listed)].filter((path) => !path.endsWith('/'));
  if (paths.length > 0) {
    const folders = await checkAll(top, paths);
    const update = (how: string[], what: readonly string[]) =>
      git(top, ['update-index', '-z', ...how, '--stdin'], {
        index,
        input: Buffer.from(`${what.join('\0')}\0`, 'latin1'),
      });
    if (folders.size > 0) await update(['--force-remove'], [...folders]);
    await update(
      ['--add', '--remove', '--replace'],
      paths.filter((path) => !folders.has(path)),
    );
  }
  return gitLine(top, ['write-tree'], { index });
}

/** Refuses too much. Gives the names of files that are folders now; a submodule is none of them. */
async function checkAll(top: string, paths: readonly string[]): Promise<Set<string>> {
  const folders = new Set<string>();
  let bytes = 0;
  const refuse = () => {
    const size = `${paths.length} files${bytes > MOST_BYTES ? `, more than ${MOST_BYTES / MEBIBYTE} MiB` : ''}`;
    return problem('git-too-much', { folder: top, size, files: MOST_FILES, mebibytes: MOST_BYTES / MEBIBYTE });
  };
  if (paths.length > MOST_FILES) throw refuse();
  for (const path of paths) {
    const file = pathIn(top, path);
    const state = await lstat(file).catch(() => undefined);
    bytes += state?.isFile() ? state.size : 0;
    if (bytes > MOST_BYTES) throw refuse();
    const isFolder =
      state?.isDirectory() && !(await lstat(Buffer.concat([file, Buffer.from('/.git')])).catch(() => false));
    if (isFolder) folders.add(path);
  }
  return folders;
}

/**
 * A commit of what is in a working tree now, on top of the one that is checked out; that one itself when
 * this is all. No branch and no reference leads to it.
 */
export async function commitNow({ top, head, tree }: Pick<Repository, 'top' | 'head' | 'tree'>): Promise<string> {
  const now = await withIndex(top, (index) => treeNow(top, index));
  if (now === tree) return head;
  return gitLine(top, ['commit-tree', '-p', head, '-m', 'Uncommitted changes', now]);
}
