import { readFile } from 'node:fs/promises';
import { messageOf, ReasonixError } from '../core/errors.ts';
import { wildcardMatches } from '../core/wildcard.ts';
import { decode } from './decode.ts';
import { linesOf } from './list-file.ts';
import { compareCodePoints } from './names.ts';
import type { Skill } from './types.ts';

/** The configuration's `[skills.list]`. */
export interface ListOptions {
  /** Globs on names; empty lists all. */
  include: readonly string[];
  exclude: readonly string[];
  /** Files with more globs, one a line, `#` comments. */
  include_file?: string | undefined;
  exclude_file?: string | undefined;
  /** Share of the most used skills, 0 to 100; 0 is off. */
  top_percent: number;
  style: 'full' | 'names';
}

export interface ListResult {
  /** In the order of the library. */
  listed: Skill[];
  /** Why each of the others is not listed, for people. */
  hidden: { name: string; reason: string }[];
  /** Required names among the listed; the catalog never cuts them. */
  required: string[];
}

/** Whether models are told of a skill at all, by its author's wish. */
export const isOffered = (skill: Skill): boolean => skill.invocation === 'auto' && !skill.disableModelInvocation;

/**
 * Which skills are listed, in this order: include globs, exclude globs, the most used share of what is
 * left, then built-ins and required skills again. Skills that are not offered to models are left out
 * before; a required one with `invocation: manual` is listed all the same. A filter never changes what
 * can be run.
 * @throws ReasonixError `config` when a glob file cannot be read or the share is not from 0 to 100.
 */
export async function filterList(
  skills: readonly Skill[],
  options: ListOptions,
  usage: ReadonlyMap<string, number>,
  required: readonly string[] = [],
): Promise<ListResult> {
  const percent = options.top_percent;
  if (!(percent >= 0 && percent <= 100)) {
    throw new ReasonixError('config', `skills.list.top_percent is ${percent}, which is no share of skills`, {
      hint: 'give a number from 0 (off) to 100',
    });
  }
  const include = await compileGlobs([...options.include, ...(await globsOf(options.include_file, 'include_file'))]);
  const exclude = await compileGlobs([...options.exclude, ...(await globsOf(options.exclude_file, 'exclude_file'))]);
  const reasons = new Map<string, string>();
  const left: Skill[] = [];
  for (const skill of skills) {
    const excluding = exclude.find(({ matches }) => matches(skill.name));
    if (skill.disableModelInvocation) reasons.set(skill.name, 'disable-model-invocation: only a user starts it');
    else if (skill.invocation === 'manual') reasons.set(skill.name, 'invocation: manual');
    else if (include.length > 0 && !include.some(({ matches }) => matches(skill.name))) {
      reasons.set(skill.name, 'no pattern of skills.list.include matches');
    } else if (excluding) reasons.set(skill.name, `skills.list.exclude has "${excluding.glob}"`);
    else left.push(skill);
  }
  for (const [name, reason] of belowTop(left, percent, usage)) reasons.set(name, reason);
  const requiredNames = new Set(required);
  for (const skill of skills) {
    const isBack = requiredNames.has(skill.name) || (skill.scope === 'builtin' && isOffered(skill));
    if (isBack && !skill.disableModelInvocation) reasons.delete(skill.name);
  }
  const listed = skills.filter(({ name }) => !reasons.has(name));
  return {
    listed,
    hidden: skills.flatMap(({ name }) => {
      const reason = reasons.get(name);
      return reason === undefined ? [] : [{ name, reason }];
    }),
    required: listed.filter(({ name }) => requiredNames.has(name)).map(({ name }) => name),
  };
}

/** Everything stays when nothing was recorded of these skills: a new library must not be empty. */
function belowTop(skills: readonly Skill[], percent: number, usage: ReadonlyMap<string, number>): [string, string][] {
  const used = ({ name }: Skill): number => usage.get(name) ?? 0;
  if (percent === 0 || !skills.some((skill) => used(skill) > 0)) return [];
  const ranked = skills.toSorted((a, b) => used(b) - used(a) || compareCodePoints(a.name, b.name));
  const room = Math.ceil((skills.length * percent) / 100);
  return ranked.slice(room).map((skill, index) => {
    const place = `place ${room + index + 1} of ${skills.length} by use (${used(skill)} sessions)`;
    return [skill.name, `${place}, skills.list.top_percent is ${percent}`];
  });
}

async function globsOf(file: string | undefined, key: string): Promise<string[]> {
  if (!file) return [];
  try {
    return linesOf(decode(await readFile(file)).text).map(({ text }) => text);
  } catch (error) {
    throw new ReasonixError('config', `skills.list.${key} ${file} cannot be read: ${messageOf(error)}`, {
      hint: 'correct the path, or leave the key out',
      cause: error,
    });
  }
}

interface Glob {
  glob: string;
  matches(name: string): boolean;
}

/** `*` and `?` cross every sign of a name, `/` and `:` too; classes and braces take the library. */
async function compileGlobs(globs: readonly string[]): Promise<Glob[]> {
  const isPlain = (glob: string): boolean => !/[[\]{}()!+@\\]/.test(glob);
  const trimmed = globs.map((glob) => glob.trim().normalize('NFC')).filter((glob) => glob !== '');
  if (trimmed.every(isPlain)) return trimmed.map((glob) => ({ glob, matches: (name) => wildcardMatches(glob, name) }));
  const { default: picomatch } = await import('picomatch');
  // The star of the library stops at a slash, so slashes go by another sign, which no name holds.
  const hidden = (text: string): string => text.replaceAll('/', '\u0001');
  return trimmed.map((glob) => {
    if (isPlain(glob)) return { glob, matches: (name) => wildcardMatches(glob, name) };
    const matches = picomatch(hidden(glob), { dot: true, noextglob: true, nonegate: true });
    return { glob, matches: (name) => matches(hidden(name)) };
  });
}
