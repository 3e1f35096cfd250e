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
  /** The commit that is checked out, and its tree. */
  head: string;
  tree: string;
}

const QUESTIONS = ['--show-toplevel', '--git-common-dir', '--show-prefix', 'HEAD^{commit}', 'HEAD^{tree}'];

/** @throws ReasonixError `worktree` when the folder is in no working tree, or nothing is committed yet. */
export async function findRepository(cwd: string): Promise<Repository> {
  const all = await git(cwd, ['rev-parse', ...QUESTIONS], { codes: [0, 128] });
  if (all.code !== 0) throw await whyNone(cwd, all.errors);
  let answers = all.text.split('\n').slice(0, -1);
  if (answers.length !== QUESTIONS.length) {
    // A path with a line end in it.
    const each = await Promise.all(QUESTIONS.map((question) => git(cwd, ['rev-parse', question])));
    answers = each.map(({ text }) => text.replace(/\r?\n$/, ''));
  }
  const [top = '', common = '', prefix = '', head = '', tree = ''] = answers;
  return {
    top: await realpath(top),
    common: await realpath(resolve(cwd, common)),
    prefix: prefix.replace(/\/$/, ''),
    head,
    tree,
  };
}

async function whyNone(folder: string, errors: string): Promise<Error> {
  if (/not a git repository/.test(errors)) return problem('git-no-repository', { folder });
  const inside = await git(folder, ['rev-parse', '--is-inside-work-tree'], { codes: [0, 128] });
  if (inside.text.trim() === 'false') return problem('git-bare', { folder });
  const head = await git(folder, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { codes: [0, 1, 128] });
  if (inside.code === 0 && head.code !== 0) return problem('git-no-commit', { folder });
  return problem('git-failed', { command: 'rev-parse', why: errors.trim().slice(0, 500) });
}
