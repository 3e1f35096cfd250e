import { createHash } from 'node:crypto';
import { git } from './git.ts';
import { treeNow, withIndex } from './snapshot.ts';

/** What a worktree differs in from the commit that it started with. */
export interface Diff {
  /** The tree of what is there. */
  tree: string;
  /** As `git apply` takes it, binary files included. */
  bytes: Buffer;
  /** SHA-256 of `bytes`, hex. */
  hash: string;
  files: number;
  /** A line a file, and a sum. */
  stat: string;
}

/** Files that the stat names. */
const MOST_LINES = 20;
const FORMAT = [
  ...['-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color'],
  ...['--stat=76', `--stat-count=${MOST_LINES}`, '--summary'],
  ...['-p', '--binary', '--full-index', '--src-prefix=a/', '--dst-prefix=b/'],
];

export async function diffOf(folder: string, base: string): Promise<Diff> {
  const tree = await withIndex(folder, (index) => treeNow(folder, index));
  const answer = await git(folder, ['diff-tree', ...FORMAT, base, tree]);
  const start = answer.bytes.indexOf('\ndiff --git ') + 1;
  const bytes = answer.bytes.subarray(answer.bytes.length === 0 ? 0 : start);
  const stat = answer.bytes.subarray(0, start).toString('utf8').trimEnd();
  const files = Number(/^ (\d+) files? changed/m.exec(stat)?.[1] ?? 0);
  return { tree, bytes, hash: createHash('sha256').update(bytes).digest('hex'), files, stat };
}
