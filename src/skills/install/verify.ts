import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareCodePoints } from '../names.ts';
import { parseSkill } from '../parse.ts';
import { grantOf, sameGrant } from './grant.ts';
import type { LockEntry } from './lock.ts';
import { marksOf } from './lock-entry.ts';
import { loadLock } from './lock-file.ts';
import { changesOf, type FileChanges, isChanged, readInstalled } from './on-disk.ts';
import type { InstallPlace } from './place.ts';

/** An installed skill against its lock. */
export interface Verified {
  name: string;
  scope: InstallPlace['scope'];
  path: string;
  /** `grant`: the files are the same, but are now understood to allow something else. */
  status: 'ok' | 'changed' | 'missing' | 'foreign' | 'grant';
  changes: FileChanges;
  /** One line for people; empty when all is well. */
  message: string;
}

const NONE: FileChanges = { added: [], removed: [], changed: [], modes: [] };

/** Compares every installed skill of a scope with its lock, file by file. Changes nothing. @throws ReasonixError `config` for a broken lock. */
export async function verifyInstalled(place: InstallPlace): Promise<Verified[]> {
  const locked = await loadLock(place.folder);
  const results: Verified[] = [];
  for (const name of [...locked.keys()].sort(compareCodePoints)) {
    results.push(await verifyOne(name, locked.get(name)!, place));
  }
  return results;
}

async function verifyOne(name: string, entry: LockEntry, place: InstallPlace): Promise<Verified> {
  const path = join(place.folder, ...entry.path.split('/'));
  const result = { name, scope: place.scope, path, changes: NONE };
  const now = await readInstalled(path);
  if (now.is === 'missing') return { ...result, status: 'missing', message: 'it is gone' };
  if (now.is === 'foreign') return { ...result, status: 'foreign', message: `it is ${now.what}` };
  const changes = changesOf(marksOf(entry), now.files);
  if (isChanged(changes) || now.content !== entry.content) {
    return {
      ...result,
      changes,
      status: 'changed',
      message: changesText(changes) || 'the lock does not agree with itself',
    };
  }
  if (!(await hasSameGrant(path, entry))) {
    return {
      ...result,
      status: 'grant',
      message: 'it may do something else than what was shown when it was installed',
    };
  }
  return { ...result, status: 'ok', message: '' };
}

async function hasSameGrant(path: string, entry: LockEntry): Promise<boolean> {
  const flat = entry.path.endsWith('.md');
  const layout = entry.path.startsWith('agents/') ? 'agent' : flat ? 'flat' : 'folder';
  const inFolder = Object.keys(entry.files).filter((each) => /^skill\.md$/i.test(each));
  const name = flat ? undefined : (inFolder.find((each) => each === 'SKILL.md') ?? inFolder[0]);
  const file = flat ? path : join(path, name ?? 'SKILL.md');
  const bytes = await readFile(file).catch(() => undefined);
  if (bytes === undefined) return false;
  const { skill } = await parseSkill(bytes, { file, layout, scope: 'project', root: path });
  return skill !== undefined && sameGrant(grantOf(skill), entry);
}

/** `SKILL.md changed; scripts/x.sh may be run now`. */
export function changesText({ added, removed, changed, modes }: FileChanges): string {
  const parts = [
    [changed, 'changed'],
    [added, 'added'],
    [removed, 'removed'],
    [modes, 'with another mode'],
  ] as const;
  return parts
    .filter(([list]) => list.length > 0)
    .map(([list, what]) => `${listText(list)} ${what}`)
    .join('; ');
}

const listText = (paths: readonly string[]): string =>
  paths.length > 4 ? `${paths.slice(0, 3).join(', ')} and ${paths.length - 3} more` : paths.join(', ');
