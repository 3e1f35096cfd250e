import { git, gitLine, gitPaths } from './git.ts';
import { problem } from './problem.ts';
import { treeNow, withIndex } from './snapshot.ts';

/** Files that a refusal names. */
const MOST_NAMES = 20;

/**
 * Merges a diff into a working tree, all of it or nothing. What somebody changed there meanwhile is
 * merged with it, file by file; the index, and with it what is staged, stays as it is.
 * @throws ReasonixError `worktree` that names the files in conflict; then nothing has changed.
 */
export async function mergeInto(top: string, bytes: Uint8Array): Promise<void> {
  await withIndex(top, async (index) => {
    const ours = await treeNow(top, index);
    const merging = `${index}.merging`;
    await git(top, ['read-tree', ours], { index: merging });
    const applied = await git(top, ['apply', '--cached', '--3way', '--binary', '-'], {
      index: merging,
      input: bytes,
      codes: [0, 1, 128],
    });
    if (applied.code !== 0) throw conflict(await unmerged(top, merging), applied.errors);
    const merged = await gitLine(top, ['write-tree'], { index: merging });
    if (merged === ours) return;
    // Checks every file before it writes the first.
    const written = await git(top, ['read-tree', '-m', '-u', ours, merged], { index, codes: [0, 1, 128] });
    if (written.code !== 0) throw conflict([], written.errors);
  });
}

async function unmerged(top: string, index: string): Promise<string[]> {
  const entries = await gitPaths(top, ['ls-files', '-u', '-z'], { index });
  const paths = entries.map((entry) => Buffer.from(entry.slice(entry.indexOf('\t') + 1), 'latin1').toString());
  return [...new Set(paths)];
}

/** `found` are files that were merged in part; those that could not be merged at all git only tells of. */
function conflict(found: readonly string[], errors: string): Error {
  const told = errors.split('\n').flatMap((line) => {
    const match =
      /^error: (?:patch failed: )?(.+?)(?::\d+)?(?:: (?:does not exist|already exists|does not match|patch does not apply|No such file).*)?$/.exec(
        line,
      ) ?? /^error: .*'(.+)'/.exec(line);
    const quoted = /'(.+)'/.exec(line);
    return match ? [quoted?.[1] ?? match[1] ?? ''] : [];
  });
  const files = [...new Set(found.length > 0 ? found : told)].filter((file) => file !== '');
  if (files.length === 0) return problem('git-failed', { command: 'apply', why: errors.trim().slice(0, 500) });
  const more = files.length > MOST_NAMES ? ` and ${files.length - MOST_NAMES} more` : '';
  return problem('worktree-conflict', { files: files.slice(0, MOST_NAMES).join(', ') + more });
}
