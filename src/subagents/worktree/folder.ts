import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { KeyedQueue } from '../../core/keyed-queue.ts';
import { makePrivate } from '../own-folders.ts';
import { git, gitPaths } from './git.ts';
import { commonFolder, gitFolder } from './git-folder.ts';
import { problem } from './problem.ts';

/** Set last, so that a worktree without it is one that was never finished. It also keeps the commit from being pruned. */
const MARK = 'refs/worktree/reasonix';

export interface WorktreeOptions {
  folder: string;
  /** A working tree of the repository. */
  repository: string;
  /** The commit that is checked out. */
  head: string;
  /** The commit whose files are there, as changes that are not committed. */
  base: string;
  /** A diff against `base` that is there as well. */
  patch?: Uint8Array | undefined;
}

/** Commands that add to, or take from, the list of worktrees of a repository go one after the other. */
const listChanges = new KeyedQueue();

/** Whether the worktree is there as it was made. */
export async function isIntact(folder: string, base: string): Promise<boolean> {
  const own = await gitFolder(folder);
  if (own === undefined) return false;
  const known = await readFile(join(own, MARK), 'utf8').catch(() => undefined);
  if (known !== undefined) return known.trim() === base;
  if (!existsSync(own)) return false;
  // Not every repository keeps its references in files.
  const mark = await git(folder, ['rev-parse', '--verify', '--quiet', MARK], { codes: [0, 1, 128] });
  return mark.code === 0 && mark.text.trim() === base;
}

/** Makes a worktree in which the files of `base` stand as if somebody had changed those of `head`. */
export async function makeWorktree({ folder, repository, head, base, patch }: WorktreeOptions): Promise<void> {
  await removeWorktree(folder, repository);
  await makePrivate(dirname(folder));
  await listChanges.run(repository, () =>
    git(repository, ['worktree', 'add', '--quiet', '--force', '--detach', '--no-checkout', folder, head]),
  );
  const files = await git(folder, ['read-tree', '--reset', '-u', base], { codes: [0, 128] });
  if (files.code !== 0) throw await whyNot(repository, base, files.errors);
  if (base !== head) {
    await git(folder, ['read-tree', '-m', head]);
    await keepSubmodules(folder, head, base);
  }
  if (patch && patch.length > 0) await git(folder, ['apply', '--binary', '-'], { input: patch });
  await git(folder, ['update-ref', MARK, base]);
}

/** Commits of submodules as `base` has them: their folders are empty, so the index alone says which. */
async function keepSubmodules(folder: string, head: string, base: string): Promise<void> {
  const entries = await gitPaths(folder, ['diff-tree', '-r', '-z', '--no-renames', head, base]);
  const lines: string[] = [];
  for (let at = 0; at < entries.length; at += 2) {
    const [, mode = '', , object = ''] = entries[at]?.split(' ') ?? [];
    if (mode === '160000') lines.push(`${mode} ${object} 0\t${entries[at + 1] ?? ''}\0`);
  }
  if (lines.length === 0) return;
  const input = Buffer.from(lines.join(''), 'latin1');
  await git(folder, ['update-index', '-z', '--index-info'], { input });
}

/** Removes a worktree and what its repository keeps of it; one that is not there is no error. */
export async function removeWorktree(folder: string, repository: string | undefined): Promise<void> {
  if (!existsSync(folder)) return;
  const common = (await commonFolder(folder)) ?? repository;
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  if (common !== undefined) await forgetWorktree(folder, common);
}

/** Removes all worktrees in a folder, and that folder; it may be one itself. */
export async function removeWorktrees(root: string, repository?: string): Promise<void> {
  if (existsSync(join(root, '.git'))) return removeWorktree(root, repository);
  for (const folder of await worktreesIn(root)) await removeWorktree(folder, repository);
  await rm(root, { recursive: true, force: true });
}

/**
 * Removes all worktrees in the folder of `kept` but that one, also what the repository keeps of one
 * that `git worktree add` was killed before it made its folder.
 */
export async function removeOthers(kept: string, common: string): Promise<void> {
  const root = dirname(kept);
  const known = (await knownWorktrees(common)).filter((folder) => dirname(folder) === root);
  for (const folder of new Set([...(await worktreesIn(root)), ...known])) {
    if (folder === kept) continue;
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    await forgetWorktree(folder, common);
  }
}

const worktreesIn = async (root: string): Promise<string[]> =>
  (await readdir(root).catch(() => [])).map((name) => join(root, name));

async function knownWorktrees(common: string): Promise<string[]> {
  const own = join(common, 'worktrees');
  const names = await readdir(own).catch(() => []);
  const leads = await Promise.all(names.map((name) => readFile(join(own, name, 'gitdir'), 'utf8').catch(() => '')));
  return leads.filter(Boolean).map((lead) => dirname(lead.trimEnd()));
}

async function forgetWorktree(folder: string, common: string): Promise<void> {
  // The repository may be gone, or damaged; then nothing has to be taken from it.
  if (!existsSync(common)) return;
  await listChanges
    .run(common, () => git(common, ['worktree', 'remove', '--force', '--force', folder], { codes: [0, 1, 128] }))
    .catch(() => {});
}

async function whyNot(repository: string, base: string, why: string): Promise<Error> {
  const known = await git(repository, ['cat-file', '-e', `${base}^{commit}`], { codes: [0, 1, 128] });
  if (known.code === 0) return problem('git-failed', { command: 'read-tree', why: why.trim().slice(0, 500) });
  return problem('worktree-base-gone', { base: base.slice(0, 12), folder: repository });
}
