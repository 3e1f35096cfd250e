import { createHash } from 'node:crypto';
import { git, gitLine, gitPaths } from './git.ts';
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

const FORMAT = ['-r', '-M', '--no-ext-diff', '--no-textconv', '--no-color'];
/** Files that the stat names. */
const MOST_LINES = 20;

export async function diffOf(folder: string, base: string): Promise<Diff> {
  const tree = await withIndex(folder, (index) => treeNow(folder, index));
  const compare = (...format: string[]): string[] => ['diff-tree', ...FORMAT, ...format, base, tree];
  const { bytes } = await git(folder, compare('-p', '--binary', '--full-index', '--src-prefix=a/', '--dst-prefix=b/'));
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (bytes.length === 0) return { tree, bytes, hash, files: 0, stat: '' };
  const files = await gitPaths(folder, compare('--name-only', '-z'));
  const stat = await gitLine(folder, compare('--stat=76', `--stat-count=${MOST_LINES}`, '--summary'));
  return { tree, bytes, hash, files: files.length, stat };
}
