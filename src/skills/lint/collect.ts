import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { type ParsedSkill, parseSkill } from '../parse.ts';
import type { LibraryOptions } from '../types.ts';
import type { LintProblem } from './problem.ts';
import { strictFindings } from './strict.ts';
import { type LintTarget, targetsOfLibrary, targetsOfPath } from './targets.ts';

export interface ReadFile {
  target: LintTarget;
  bytes: Buffer;
  parsed: ParsedSkill;
}

interface Collected {
  files: ReadFile[];
  problems: LintProblem[];
}

interface CollectOptions {
  library: LibraryOptions;
  paths?: readonly string[] | undefined;
  strict?: boolean | undefined;
}

const LARGEST_FILE = 8 * 1024 * 1024;

/** Reads the skills of the paths, each once, or of the library. A path without any is a problem. */
export async function collectFiles({ library, paths = [], strict }: CollectOptions): Promise<Collected> {
  if (paths.length === 0) {
    const { targets, problems } = targetsOfLibrary(library);
    const read = await readTargets(targets);
    return { files: read.files, problems: [...(strict ? [] : problems), ...read.problems] };
  }
  const all: Collected = { files: [], problems: [] };
  const seen = new Set<string>();
  for (const written of paths) {
    const path = resolve(library.cwd, written);
    const { targets, problems } = targetsOfPath(path);
    const fresh = targets.filter(({ file }) => !seen.has(file));
    for (const { file } of fresh) seen.add(file);
    const read = await readTargets(fresh);
    all.files.push(...read.files);
    if (!strict) all.problems.push(...problems);
    all.problems.push(...read.problems);
    const isEmpty = fresh.length === targets.length && read.files.length === 0 && read.problems.length === 0;
    if (isEmpty) all.problems.push(...(await emptyPath(path, strict ?? false, problems)));
  }
  return all;
}

async function emptyPath(path: string, strict: boolean, known: readonly LintProblem[]): Promise<LintProblem[]> {
  if (strict) return (await strictFindings(path)).map((each) => ({ ...each, path, fixable: false }));
  if (known.some(({ severity }) => severity === 'error')) return [];
  const message = 'no skill is here: no SKILL.md, and no .md file with front matter';
  return [{ severity: 'error', code: 'no-skill', path, message, fixable: false }];
}

/** The files that are skills; those that cannot be read are problems. */
async function readTargets(targets: readonly LintTarget[]): Promise<Collected> {
  const all: Collected = { files: [], problems: [] };
  for (const target of targets) {
    const fail = (code: string, message: string): void => {
      all.problems.push({ severity: 'error', code, path: target.file, message, fixable: false });
    };
    try {
      const bytes = await readFile(target.file);
      if (bytes.length > LARGEST_FILE) {
        fail('too-large', `${bytes.length} bytes are more than ${LARGEST_FILE}: it is no skill here`);
        continue;
      }
      const parsed = await parseSkill(bytes, target);
      if (!target.needsKey || parsed.hasKnownKey) all.files.push({ target, bytes, parsed });
    } catch (error) {
      fail('unreadable', `the file cannot be read (${messageOf(error)})`);
    }
  }
  return all;
}
