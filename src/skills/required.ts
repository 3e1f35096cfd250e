import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { decode } from './decode.ts';
import { linesOf } from './list-file.ts';
import { normalName } from './names.ts';
import type { Diagnostic, SkillLibrary } from './types.ts';

export interface RequiredOptions {
  cwd: string;
  home: string;
  reasonixHome: string;
  session: string;
  /** Names of the configuration; `!name` waives. */
  configured: readonly string[];
  /** Names of the session itself, or of a child's skill. */
  own?: readonly string[] | undefined;
  /** A child has only its own. */
  onlyOwn?: boolean | undefined;
}

export interface RequiredSkill {
  name: string;
  /** `path:line`, or the key that names it. */
  from: string;
  /** Where that is, when a file names it. */
  at?: { path: string; line: number } | undefined;
}

export interface RequiredSkillSet {
  required: RequiredSkill[];
  /** Required and let off: `by` is where a `!name` stands, or `disabled`. */
  waived: (RequiredSkill & { by: string })[];
  /** No such skill, or no single one. */
  unresolved: RequiredSkill[];
  /** Files that are there and cannot be read. */
  diagnostics: Diagnostic[];
}

const FILE = 'required_skills.txt';
const PRODUCTS = ['.claude', '.reasonix', '.scorpiox'] as const;
const LARGEST_FILE = 1024 * 1024;

/** The files of each level that count: user, project from the repository root down to the working folder, session. */
function requiredFiles(options: Omit<RequiredOptions, 'configured' | 'own' | 'onlyOwn'>): string[] {
  const { cwd, home, reasonixHome, session } = options;
  const isPlain = /^\w[\w.-]*$/.test(session);
  const folders = [
    join(home, '.claude'),
    reasonixHome,
    join(home, '.scorpiox'),
    ...projectFolders(cwd).flatMap((folder) => PRODUCTS.map((product) => join(folder, product))),
    ...(isPlain ? [join(cwd, '.scorpiox', 'sessions', session), join(reasonixHome, 'sessions', session)] : []),
  ];
  return [...new Set(folders.map((folder) => join(resolve(folder), FILE)))];
}

/** From the repository root down to the working folder; the working folder alone outside of a repository. */
function projectFolders(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (existsSync(join(folder, '.git'))) return folders;
    if (dirname(folder) === folder) return [resolve(cwd)];
  }
}

/**
 * The union of all levels, each name once, by the first place that names it. A `!name` on any level
 * waives it, and a skill that the configuration disables is waived too.
 */
export async function readRequired(options: RequiredOptions, library: SkillLibrary): Promise<RequiredSkillSet> {
  const diagnostics: Diagnostic[] = [];
  const named: RequiredSkill[] = options.onlyOwn
    ? []
    : [
        ...(await fromFiles(requiredFiles(options), diagnostics)),
        ...listed(options.configured, 'skills.required.names'),
      ];
  named.push(...listed(options.own ?? [], 'required'));
  const waivers = new Map<string, string>();
  for (const { name, from } of named) {
    if (name.startsWith('!')) waivers.set(canonical(name.slice(1), library), from);
  }
  const result: RequiredSkillSet = { required: [], waived: [], unresolved: [], diagnostics };
  const seen = new Set<string>();
  for (const entry of named) {
    const name = canonical(entry.name, library);
    if (entry.name.startsWith('!') || name === '' || seen.has(name)) continue;
    seen.add(name);
    const by = waivers.get(name);
    const { status } = library.find(name);
    if (by !== undefined) result.waived.push({ name, from: entry.from, by });
    else if (status === 'disabled') result.waived.push({ name, from: entry.from, by: 'disabled' });
    else if (status === 'found') result.required.push({ name, from: entry.from });
    else result.unresolved.push({ ...entry, name });
  }
  return result;
}

/** What a person who looks at the list of skills is told about those that are required and are none. */
export function unresolvedDiagnostics(unresolved: readonly RequiredSkill[], library: SkillLibrary): Diagnostic[] {
  return unresolved.map(({ name, from, at }) => {
    const lookup = library.find(name);
    const why =
      lookup.status === 'ambiguous'
        ? `the required skill "${name}" could be ${lookup.names.join(' or ')}`
        : `there is no skill "${name}", which is required here`;
    const near =
      lookup.status === 'unknown' && lookup.nearest.length > 0 ? `; nearest: ${lookup.nearest.join(', ')}` : '';
    const message = at === undefined ? `${from}: ${why}${near}` : `${why}${near}`;
    return {
      severity: 'warning',
      code: 'required-unresolved',
      path: at?.path ?? '',
      line: at?.line,
      message,
      skill: name,
    };
  });
}

const listed = (names: readonly string[], from: string): RequiredSkill[] =>
  names.map((name) => ({ name: name.trim(), from })).filter(({ name }) => name !== '');

/** The name as the library has it, whatever way it was written. */
function canonical(written: string, library: SkillLibrary): string {
  const name = normalName(written);
  const lookup = library.find(name);
  if (lookup.status === 'found') return lookup.skill.name;
  return lookup.status === 'disabled' ? lookup.name : name;
}

async function fromFiles(files: readonly string[], diagnostics: Diagnostic[]): Promise<RequiredSkill[]> {
  const texts = await Promise.all(files.map(async (file) => ({ file, text: await textOf(file, diagnostics) })));
  return texts.flatMap(({ file, text }) =>
    linesOf(text).map(({ text: name, line }) => ({ name, from: `${file}:${line}`, at: { path: file, line } })),
  );
}

async function textOf(file: string, diagnostics: Diagnostic[]): Promise<string> {
  const problem = (message: string): string => {
    diagnostics.push({ severity: 'warning', code: 'required-unreadable', path: file, message });
    return '';
  };
  try {
    const stats = await stat(file);
    const { size } = stats;
    if (!stats.isFile()) return problem('required skills are read from a file, and this is none');
    if (size > LARGEST_FILE)
      return problem(`a list of required skills has at most ${LARGEST_FILE} bytes, this has ${size}`);
    return decode(await readFile(file)).text;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? '' : problem(`cannot be read: ${messageOf(error)}`);
  }
}
