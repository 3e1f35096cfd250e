import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SkillLibrary } from './types.ts';

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
}

export interface RequiredSkillSet {
  required: RequiredSkill[];
  waived: RequiredSkill[];
  /** No such skill. */
  unresolved: RequiredSkill[];
}

/** The files of each level: user, project, session. */
export function requiredFiles({ cwd, home, reasonixHome, session }: RequiredOptions): string[] {
  const name = 'required_skills.txt';
  return [
    join(home, '.claude', name),
    join(reasonixHome, name),
    join(cwd, '.claude', name),
    join(cwd, '.reasonix', name),
    join(cwd, '.scorpiox', name),
    join(cwd, '.scorpiox', 'sessions', session, name),
    join(reasonixHome, 'sessions', session, name),
  ];
}

/**
 * The union of all levels. `!name` on any level waives; a disabled skill counts as waived; a name that
 * no skill has is unresolved.
 */
export async function readRequired(options: RequiredOptions, library: SkillLibrary): Promise<RequiredSkillSet> {
  const named: RequiredSkill[] = (options.own ?? []).map((name) => ({ name, from: 'required' }));
  if (!options.onlyOwn) {
    named.unshift(
      ...(await fromFiles(options)),
      ...options.configured.map((name) => ({ name, from: 'skills.required.names' })),
    );
  }
  const waivers = new Map(
    named.filter(({ name }) => name.startsWith('!')).map((entry) => [entry.name.slice(1).trim(), entry]),
  );
  const result: RequiredSkillSet = { required: [], waived: [], unresolved: [] };
  const seen = new Set<string>();
  for (const entry of named) {
    if (entry.name.startsWith('!')) continue;
    const lookup = library.find(entry.name);
    const name = lookup.status === 'found' ? lookup.skill.name : entry.name;
    if (seen.has(name)) continue;
    seen.add(name);
    if (waivers.has(name) || waivers.has(entry.name) || lookup.status === 'disabled')
      result.waived.push({ ...entry, name });
    else if (lookup.status === 'found') result.required.push({ ...entry, name });
    else result.unresolved.push(entry);
  }
  return result;
}

async function fromFiles(options: RequiredOptions): Promise<RequiredSkill[]> {
  const lists = await Promise.all(
    requiredFiles(options).map(async (file) => {
      const text = await readFile(file, 'utf8').catch(() => '');
      return text
        .replace(/^\ufeff/, '')
        .split(/\r\n?|\n/)
        .map((line, index) => ({ name: line.replace(/(^|\s)#.*$/, '').trim(), from: `${file}:${index + 1}` }))
        .filter(({ name }) => name !== '');
    }),
  );
  return lists.flat();
}
