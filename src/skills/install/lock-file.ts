import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { compareCodePoints } from '../names.ts';
import type { Grant } from './grant.ts';
import { LOCK_FILE, type LockEntry, type LockedSkills, readLock } from './lock.ts';

export const lockPath = (folder: string): string => join(folder, LOCK_FILE);

/** The lock of a scope; an empty one when there is none. @throws ReasonixError `config` when it cannot be understood. */
export async function loadLock(folder: string): Promise<LockedSkills> {
  const file = lockPath(folder);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw lockError(file, `cannot be read: ${messageOf(error)}`, error);
  }
  const { skills, problem } = readLock(text);
  if (problem !== undefined) throw lockError(file, problem);
  return skills;
}

const lockError = (file: string, problem: string, cause?: unknown): ReasonixError =>
  new ReasonixError('config', `${file} ${problem}`, {
    hint: 'restore it from version control, or delete it and install the skills again with --force',
    cause,
  });

/** The same bytes for the same skills, on every machine. */
export function lockText(skills: LockedSkills): string {
  const names = [...skills.keys()].sort(compareCodePoints);
  const sorted = Object.fromEntries(names.map((name) => [name, sortedEntry(skills.get(name)!)]));
  return `${JSON.stringify({ version: 1, skills: sorted }, null, 2)}\n`;
}

function sortedEntry(entry: LockEntry): LockEntry {
  const { path, source, kind, ref, from, revision, content, executable, files } = entry;
  const { run_as, tools, disallowed_tools, read_only, limits }: Grant = entry;
  return {
    path,
    source,
    kind,
    ref,
    from,
    revision,
    content,
    run_as,
    tools,
    disallowed_tools,
    read_only,
    limits: sortedObject(limits),
    executable: [...executable].sort(compareCodePoints),
    files: sortedObject(files),
  };
}

const sortedObject = <T extends object>(object: T): T =>
  Object.fromEntries(
    Object.entries(object)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => compareCodePoints(a, b)),
  ) as T;

/** Readers and a crash see the old lock or the new one. A lock without skills is no file. */
export async function saveLock(folder: string, skills: LockedSkills): Promise<void> {
  const file = lockPath(folder);
  if (skills.size === 0) {
    await rm(file, { force: true });
    return;
  }
  const temporary = join(folder, `.${LOCK_FILE}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const handle = await open(temporary, 'wx');
    try {
      await handle.writeFile(lockText(skills));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
