import { readFileSync } from 'node:fs';
import { basename, dirname, relative, sep } from 'node:path';
import { fileState } from '../folders.ts';
import { contentOf } from '../hash.ts';
import type { Root } from '../roots.ts';
import type { Seen } from '../seen.ts';
import type { Diagnostic, Skill } from '../types.ts';
import { heldTo } from './grant.ts';
import { LOCK_FILE, type LockEntry, readLock } from './lock.ts';

/** Installed skills of one root against the lock beside it. */
export interface HeldToLock {
  skills: Skill[];
  diagnostics: Diagnostic[];
}

/**
 * Reports installed skills whose markdown file is not the one that was installed, and holds them to
 * what the installer was shown. Costs the reading of one small file a root: the hashes of the markdown
 * files are known from the index. Other files are compared by `verifyInstalled` only.
 */
export function holdToLock(
  root: Pick<Root, 'path' | 'scope'>,
  reasonixHome: string,
  skills: Skill[],
  seen?: Seen,
): HeldToLock {
  const folder = dirname(root.path);
  const isOurs = basename(folder) === '.reasonix' || folder === reasonixHome;
  if (!isOurs || (root.scope !== 'project' && root.scope !== 'user')) return { skills, diagnostics: [] };
  const file = `${folder}${sep}${LOCK_FILE}`;
  seen?.file(file, fileState(file), Date.now());
  const text = readQuietly(file);
  if (text === undefined) return { skills, diagnostics: [] };
  const { skills: locked, problem } = readLock(text);
  if (problem !== undefined) {
    const message = `${LOCK_FILE} ${problem}: installed skills are not compared with it`;
    return { skills, diagnostics: [{ severity: 'warning', code: 'lock-unreadable', path: file, message }] };
  }
  const byPath = new Map([...locked.values()].map((entry) => [entry.path, entry]));
  return { skills: skills.map((skill) => held(skill, folder, byPath)), diagnostics: [] };
}

function held(skill: Skill, folder: string, byPath: ReadonlyMap<string, LockEntry>): Skill {
  const own = skill.layout === 'folder' ? skill.folder : skill.file;
  const entry = byPath.get(relative(folder, own).split(sep).join('/'));
  if (entry === undefined) return skill;
  const installed = entry.files[basename(skill.file)];
  if (installed?.startsWith(contentOf(skill.stamp))) return skill;
  const message = `it is not the file that was installed, so it may do no more than that one: reasonix skill update --force undoes the change, removing its entry from ${LOCK_FILE} makes it yours`;
  const diagnostic: Diagnostic = {
    severity: 'warning',
    code: 'install-changed',
    path: skill.file,
    message,
    skill: skill.name,
  };
  return { ...heldTo(skill, entry), diagnostics: [...skill.diagnostics, diagnostic] };
}

function readQuietly(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
