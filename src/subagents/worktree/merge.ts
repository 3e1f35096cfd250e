import { copyFile, lstat, readFile, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { git, gitLine, gitPaths, pathIn } from './git.ts';
import { problem } from './problem.ts';
import { treeNow, withIndex } from './snapshot.ts';

/** Files that a refusal names. */
const MOST_NAMES = 20;

/** Changes as two trees of the repository. */
export interface Change {
  /** What they started from. */
  base: string;
  tree: string;
}

/**
 * Merges changes into a working tree, all of them or none. What somebody changed there meanwhile is
 * merged with them, line by line; the index, and with it what is staged, stays as it is.
 * @throws ReasonixError `worktree` that names the files in conflict; then nothing has changed.
 */
export async function mergeInto(top: string, { base, tree }: Change): Promise<void> {
  await withIndex(top, async (index) => {
    const ours = await treeNow(top, index);
    const merging = `${index}.merging`;
    await copyFile(index, merging);
    await git(top, ['read-tree', '-i', '-m', '--aggressive', base, ours, tree], { index: merging });
    const left = await mergeFiles(top, merging, index);
    if (left.length > 0) throw conflict(left);
    const merged = await git(top, ['write-tree'], { index: merging, codes: [0, 128] });
    if (merged.code !== 0) throw conflict(namesIn(merged.errors));
    if (merged.text.trim() === ours) return;
    const inTheWay = await unknownAt(top, ours, merged.text.trim());
    if (inTheWay.length > 0) throw conflict(inTheWay);
    // Checks every file before it writes the first; the times of all of them have to be known for that.
    await git(top, ['update-index', '-q', '--refresh'], { index, codes: [0, 1] });
    const written = await git(top, ['read-tree', '-m', '-u', ours, merged.text.trim()], { index, codes: [0, 128] });
    if (written.code !== 0) throw conflict(namesIn(written.errors));
  });
}

/** New files in whose place something stands that git does not know: it takes what is ignored for nothing. */
async function unknownAt(top: string, before: string, after: string): Promise<string[]> {
  const entries = await gitPaths(top, ['diff-tree', '-r', '-z', '--no-renames', '--name-status', before, after]);
  const added: string[] = [];
  const known = new Set<string>();
  for (let at = 0; at < entries.length; at += 2) {
    const path = entries[at + 1] ?? '';
    if (entries[at] === 'A') added.push(path);
    if (entries[at] === 'D') known.add(path);
  }
  const found: string[] = [];
  for (const path of added) {
    for (let at = path; at !== '.'; at = posix.dirname(at)) {
      const state = await lstat(pathIn(top, at)).catch(() => undefined);
      const isFolderAbove = at !== path && state?.isDirectory();
      if (state && !isFolderAbove && !known.has(at)) found.push(Buffer.from(at, 'latin1').toString());
      if (state) break;
    }
  }
  return [...new Set(found)];
}

/** The tree that a diff makes of `base`. */
export async function treeWith(top: string, base: string, diff: Uint8Array): Promise<string> {
  return withIndex(top, async (index) => {
    await git(top, ['read-tree', base], { index });
    if (diff.length > 0) await git(top, ['apply', '--cached', '--binary', '-'], { index, input: diff });
    return gitLine(top, ['write-tree'], { index });
  });
}

interface Stage {
  mode: string;
  object: string;
}

/** Merges the files that both sides changed; gives the names of those that it cannot. */
async function mergeFiles(top: string, index: string, scratch: string): Promise<string[]> {
  const unmerged = new Map<string, Partial<Record<string, Stage>>>();
  for (const entry of await gitPaths(top, ['ls-files', '-u', '-z'], { index })) {
    const [mode = '', object = '', stage = ''] = entry.slice(0, entry.indexOf('\t')).split(' ');
    const path = entry.slice(entry.indexOf('\t') + 1);
    unmerged.set(path, { ...unmerged.get(path), [stage]: { mode, object } });
  }
  const left: string[] = [];
  for (const [path, { 1: base, 2: ours, 3: theirs }] of unmerged) {
    const merged =
      ours && theirs && isFile(ours) && isFile(theirs) ? await mergeFile(top, scratch, base, ours, theirs) : undefined;
    if (!ours || !theirs || merged === undefined) {
      left.push(Buffer.from(path, 'latin1').toString());
      continue;
    }
    const mode = base && ours.mode === base.mode ? theirs.mode : ours.mode;
    const input = Buffer.from(`${mode} ${merged} 0\t${path}\0`, 'latin1');
    await git(top, ['update-index', '-z', '--index-info'], { index, input });
  }
  return left;
}

const isFile = ({ mode }: Stage): boolean => mode.startsWith('100');

async function mergeFile(
  top: string,
  scratch: string,
  base: Stage | undefined,
  ours: Stage,
  theirs: Stage,
): Promise<string | undefined> {
  if (ours.object === theirs.object) return ours.object;
  const files: string[] = [];
  for (const [name, stage] of Object.entries({ ours, base, theirs })) {
    const file = `${scratch}.${name}`;
    await writeFile(file, stage ? (await git(top, ['cat-file', 'blob', stage.object])).bytes : '');
    files.push(file);
  }
  // The number of conflicts, and 255 for files that are no text.
  const merge = await git(top, ['merge-file', '-q', ...files], {
    codes: Array.from({ length: 256 }, (_, code) => code),
  });
  if (merge.code !== 0) return undefined;
  const input = await readFile(files[0] ?? '');
  return gitLine(top, ['hash-object', '-w', '--stdin'], { input });
}

/** The files that git names where it explains why it refuses. */
function namesIn(errors: string): string[] {
  const lines = errors.split('\n').flatMap((line) => {
    const quoted = /^error: .*?'(.+)'/.exec(line)?.[1];
    const listed = /^\t(.+)$/.exec(line)?.[1];
    const name = quoted ?? listed ?? /^error: (?:You have both )?(\S+)/.exec(line)?.[1];
    return name === undefined ? [] : [name];
  });
  return [...new Set(lines)];
}

function conflict(files: readonly string[]): Error {
  const more = files.length > MOST_NAMES ? ` and ${files.length - MOST_NAMES} more` : '';
  return problem('worktree-conflict', { files: files.slice(0, MOST_NAMES).join(', ') + more });
}
