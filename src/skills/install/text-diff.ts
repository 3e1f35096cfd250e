import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { textOf } from '../text-file.ts';
import type { FileChanges } from './on-disk.ts';
import type { NewFile } from './review.ts';

/** Lines of one file's difference that are shown, and of all files together. */
const MOST_OF_A_FILE = 200;
const MOST = 600;
const PATIENCE = 1_000;

/** What an update changes, as a unified diff of the text files; others are named. Bounded in size and time. */
export async function diffOf(
  installed: string,
  files: readonly NewFile[],
  changes: FileChanges,
  isFile: boolean,
): Promise<string[]> {
  const { createTwoFilesPatch } = await import('diff');
  const lines: string[] = [];
  const news = new Map(files.map((file) => [file.path, file]));
  for (const path of [...changes.changed, ...changes.removed, ...changes.added]) {
    if (lines.length >= MOST) {
      lines.push('… further files are not shown');
      break;
    }
    const before = changes.added.includes(path) ? '' : await oldText(isFile ? installed : join(installed, path));
    const file = news.get(path);
    const after = file === undefined ? '' : textOf(file.bytes);
    if (before === undefined || after === undefined) {
      lines.push(`${path}: no text`);
      continue;
    }
    const old = changes.added.includes(path) ? '/dev/null' : path;
    const next = file === undefined ? '/dev/null' : path;
    const patch = createTwoFilesPatch(old, next, before, after, '', '', { context: 2, timeout: PATIENCE });
    const all = patch === undefined ? [`${path}: changed in too many places`] : linesOf(patch);
    lines.push(...all.slice(0, MOST_OF_A_FILE));
    if (all.length > MOST_OF_A_FILE) lines.push(`… ${all.length - MOST_OF_A_FILE} more lines of ${path}`);
  }
  return lines;
}

/** Without the ruler at the start and the empty line at the end. */
const linesOf = (patch: string): string[] => patch.replace(/^=+\n/, '').replace(/\n$/, '').split('\n');

async function oldText(path: string): Promise<string | undefined> {
  const bytes = await readFile(path).catch(() => undefined);
  return bytes === undefined ? undefined : textOf(bytes);
}
