import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { git } from './git.ts';
import { problem } from './problem.ts';

/** The repository that a folder is in. */
export interface Repository {
  /** Root of the working tree, by its real path. */
  top: string;
  /** Where the repository itself is, shared by all of its worktrees. */
  common: string;
  /** The folder relative to `top`, with `/`; empty for `top` itself. */
  prefix: string;
  /** The commit that is checked out. */
  head: string;
}

/** @throws ReasonixError `worktree` when the folder is in no working tree, or nothing is committed yet. */
export async function findRepository(cwd: string): Promise<Repository> {
  const ask = async (...what: string[]): Promise<string> =>
    (await git(cwd, ['rev-parse', ...what])).text.replace(/\r?\n$/, '');
  const inside = await git(cwd, ['rev-parse', '--is-inside-work-tree'], { codes: [0, 128] });
  if (inside.code !== 0) {
    if (/not a git repository/.test(inside.errors)) throw problem('git-no-repository', { folder: cwd });
    throw problem('git-failed', { command: 'rev-parse', why: inside.errors.trim() });
  }
  if (inside.text.trim() !== 'true') throw problem('git-bare', { folder: cwd });
  const head = await git(cwd, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { codes: [0, 1, 128] });
  if (head.code !== 0) throw problem('git-no-commit', { folder: cwd });
  const [top, common, prefix] = await Promise.all([
    ask('--show-toplevel'),
    ask('--git-common-dir'),
    ask('--show-prefix'),
  ]);
  return {
    top: await realpath(top),
    common: await realpath(resolve(cwd, common)),
    prefix: prefix.replace(/\/$/, ''),
    head: head.text.trim(),
  };
}
