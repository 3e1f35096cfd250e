import { randomBytes } from 'node:crypto';
import { lstat, rename, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { compareCodePoints } from '../names.ts';
import type { Skill } from '../types.ts';
import { withFolderLock } from './folder-lock.ts';
import type { LockedSkills } from './lock.ts';
import { loadLock, saveLock } from './lock-file.ts';
import { readInstalled } from './on-disk.ts';
import { type InstallPlace, targetOf } from './place.ts';
import { refused } from './refused.ts';
import { recover, settle } from './transaction.ts';

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
export async function planRemovalOfInstalled(
  name: string,
  place: InstallPlace,
  signal: AbortSignal,
): Promise<Removal | undefined> {
  await settle(place, signal);
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

/**
 * Takes all of them away, then their entries in the locks; when one cannot be, all of them stay. A link
 * goes itself, never what it leads to.
 * @throws ReasonixError `skill_not_found` when a lock has lost one of them since it was planned.
 */
export async function applyRemovals(removals: readonly Removal[], signal: AbortSignal): Promise<void> {
  const places = new Map(
    removals.flatMap(({ lockedIn }) => (lockedIn === undefined ? [] : [[lockedIn.folder, lockedIn]])),
  );
  // always in one order, so that two processes never wait for each other
  const folders = [...places.keys()].sort(compareCodePoints);
  const locked = folders.reduceRight(
    (work, folder) => () => withFolderLock(folder, signal, work),
    async () => {
      const locks = await Promise.all([...places.values()].map((place) => lockWithout(removals, place)));
      await takeAll(removals, locks);
    },
  );
  await locked();
}

interface LockChange {
  folder: string;
  before: LockedSkills;
  after: LockedSkills;
}

async function lockWithout(removals: readonly Removal[], place: InstallPlace): Promise<LockChange> {
  const { folder } = place;
  await recover(place);
  const before = await loadLock(folder);
  const after = new Map(before);
  for (const { name, lockedIn } of removals) {
    if (lockedIn?.folder === folder && !after.delete(name)) {
      throw new ReasonixError('skill_not_found', `the skill ${name} is gone already`);
    }
  }
  return { folder, before, after };
}

async function takeAll(removals: readonly Removal[], locks: readonly LockChange[]): Promise<void> {
  const undo: (() => Promise<void>)[] = [];
  const taken: string[] = [];
  try {
    for (const { path } of removals) {
      if ((await lstat(path).catch(() => undefined)) === undefined) continue;
      // in one moment, and only then file by file: a reader never sees half a skill
      const aside = join(dirname(path), `.install-${randomBytes(6).toString('hex')}`);
      await rename(path, aside);
      undo.push(() => rename(aside, path));
      taken.push(aside);
    }
    for (const { folder, before, after } of locks) {
      undo.push(() => saveLock(folder, before));
      await saveLock(folder, after);
    }
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw refused(
      `the skills could not be removed: ${messageOf(error)}`,
      'nothing was changed; check permissions',
      error,
    );
  }
  for (const aside of taken) await rm(aside, { recursive: true, force: true, maxRetries: 3 });
}
