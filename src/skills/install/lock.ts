import { isObject } from '../../core/is-object.ts';
import { isOrdinaryName } from '../names.ts';
import type { Grant } from './grant.ts';
import type { SourceKind } from './source.ts';

export const LOCK_FILE = 'skills.lock';

/** What is known about an installed skill. */
export interface LockEntry extends Grant {
  /** From the folder of the lock: `skills/<name>`, `skills/<name>.md` or `agents/<name>.md`. */
  path: string;
  /** As `parseSource` reads it; paths inside the project are relative to it. */
  source: string;
  kind: SourceKind;
  /** The branch, tag or commit that was asked for; null for the repository's own choice. */
  ref: string | null;
  /** The skill's place inside the source. */
  from: string;
  /** A commit, or the integrity of an archive; a folder has none. */
  revision: string | null;
  /** Hash of all files with their names and modes. */
  content: string;
  /** Files that may be run. */
  executable: string[];
  /** SHA-256 of each file. */
  files: Record<string, string>;
}

/** By the skills' names. */
export type LockedSkills = ReadonlyMap<string, LockEntry>;

const KINDS: readonly unknown[] = ['folder', 'archive', 'git', 'npm'] satisfies SourceKind[];

/**
 * Reads the text of a lock. It may come with a repository, so what is used as a path is checked here:
 * nothing outside the folders of skills and agents beside it can be named.
 */
export function readLock(text: string): { skills: LockedSkills; problem?: string } {
  const skills = new Map<string, LockEntry>();
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return {
      skills,
      problem: /^<{7}|^={7}|^>{7}/m.test(text) ? 'holds conflict markers of a merge' : 'is no valid JSON',
    };
  }
  if (!isObject(value) || !isObject(value.skills)) return { skills, problem: 'holds no list of skills' };
  if (value.version !== 1)
    return { skills, problem: `is of version ${JSON.stringify(value.version)}, and only 1 is known here` };
  for (const [name, entry] of Object.entries(value.skills)) {
    if (!isEntry(entry))
      return { skills: new Map(), problem: `has an entry that cannot be used: ${JSON.stringify(name)}` };
    skills.set(name, entry);
  }
  return { skills };
}

/** Whether a path is one that an installed skill may have, below the folder of the lock. */
export function isInstalledPath(path: string): boolean {
  const [, root, name = '', flat] = /^(skills|agents)\/([^/\\]+?)(\.md)?$/.exec(path) ?? [];
  return isOrdinaryName(name) && (root === 'skills' || (root === 'agents' && flat !== undefined));
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string';

function isEntry(value: unknown): value is LockEntry {
  return (
    isObject(value) &&
    typeof value.path === 'string' &&
    isInstalledPath(value.path) &&
    typeof value.source === 'string' &&
    KINDS.includes(value.kind) &&
    isTextOrNull(value.ref) &&
    typeof value.from === 'string' &&
    isTextOrNull(value.revision) &&
    typeof value.content === 'string' &&
    (value.run_as === 'inline' || value.run_as === 'subagent') &&
    (value.tools === null || isTexts(value.tools)) &&
    isTexts(value.disallowed_tools) &&
    typeof value.read_only === 'boolean' &&
    isObject(value.limits) &&
    Object.values(value.limits).every((limit) => typeof limit === 'number') &&
    isTexts(value.executable) &&
    isObject(value.files) &&
    Object.values(value.files).every((hash) => typeof hash === 'string')
  );
}
