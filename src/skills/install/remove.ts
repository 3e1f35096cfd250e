import { randomBytes } from 'node:crypto';
import { lstat, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';
import type { Skill } from '../types.ts';
import { withFolderLock } from './folder-lock.ts';
import { loadLock, saveLock } from './lock-file.ts';
import { readInstalled } from './on-disk.ts';
import { type InstallPlace, targetOf } from './place.ts';
import { refused } from './refused.ts';
import { recover } from './transaction.ts';

/** What removing a skill takes away. */
export interface Removal {
  name: string;
  /** Absolute; a folder, a file, or a link, whose target stays. */
  path: string;
  is: 'folder' | 'file' | 'link' | 'missing';
  files: number;
  /** It was installed, and goes from the lock of this place too. */
  lockedIn?: InstallPlace | undefined;
  /** It is not what was installed. */
  edited: boolean;
}

/**
 * Says what removing an installed skill takes away; nothing when the place has none of this name.
 * @throws ReasonixError `config` for a broken lock.
 */
export async function planRemovalOfInstalled(name: string, place: InstallPlace): Promise<Removal | undefined> {
  const entry = (await loadLock(place.folder)).get(name);
  if (entry === undefined) return undefined;
  const path = await targetOf(place, entry.path);
  return { ...(await whatIs(path)), name, path, lockedIn: place, edited: await differs(path, entry.content) };
}

async function differs(path: string, content: string): Promise<boolean> {
  const now = await readInstalled(path);
  return now.is === 'foreign' || (now.is === 'present' && now.content !== content);
}

/**
 * Says what removing a skill of the library takes away: only what lies below its root, without a link on
 * the way there.
 * @throws ReasonixError `skill_refused` for built-in skills, and those that are not theirs to remove.
 */
export async function planRemoval(skill: Skill): Promise<Removal> {
  const { name, scope, root } = skill;
  if (scope === 'builtin') throw refused(`${name} is built in`, `switch it off with: reasonix skill disable ${name}`);
  const path = resolve(skill.layout === 'folder' ? skill.folder : skill.file);
  const inside = relative(resolve(root), path);
  if (inside === '' || inside.startsWith('..')) {
    throw refused(`${name} is not a part of ${root}, but all of it or elsewhere`, `remove ${path} by hand`);
  }
  const parts = inside.split(sep);
  for (let depth = 1; depth < parts.length; depth++) {
    const above = join(resolve(root), ...parts.slice(0, depth));
    if ((await lstat(above)).isSymbolicLink()) {
      throw refused(`${name} lies behind the link ${above}`, 'remove it where it really is');
    }
  }
  return { ...(await whatIs(path)), name, path, edited: false };
}

async function whatIs(path: string): Promise<Pick<Removal, 'is' | 'files'>> {
  const state = await lstat(path).catch(() => undefined);
  if (state === undefined) return { is: 'missing', files: 0 };
  if (state.isSymbolicLink()) return { is: 'link', files: 0 };
  if (!state.isDirectory()) return { is: 'file', files: 1 };
  const now = await readInstalled(path);
  return { is: 'folder', files: now.is === 'present' ? now.files.size : 0 };
}

/** Takes the skill away, then its entry in the lock. A link goes itself, never what it leads to. */
export async function applyRemoval(removal: Removal, signal: AbortSignal): Promise<void> {
  const { lockedIn, name, path } = removal;
  if (lockedIn === undefined) {
    await take(path);
    return;
  }
  await withFolderLock(lockedIn.folder, signal, async () => {
    await recover(lockedIn);
    const locked = new Map(await loadLock(lockedIn.folder));
    if (!locked.delete(name)) throw new ReasonixError('skill_not_found', `the skill ${name} is gone already`);
    await take(path);
    await saveLock(lockedIn.folder, locked);
  });
}

async function take(path: string): Promise<void> {
  const state = await lstat(path).catch(() => undefined);
  if (state === undefined) return;
  if (!state.isDirectory()) {
    await unlink(path);
    return;
  }
  // in one moment, and only then file by file: a reader never sees half a skill
  const aside = join(dirname(path), `.install-${randomBytes(6).toString('hex')}`);
  await rename(path, aside);
  await rm(aside, { recursive: true, force: true, maxRetries: 3 });
}
