import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SkillChanges, SkillLibrary } from './types.ts';

/** Names and stamps of a library's skills at one moment. */
type Snapshot = ReadonlyMap<string, string>;

const known = new Map<string, Snapshot>();

const snapshotOf = (library: SkillLibrary): Snapshot => new Map(library.skills.map(({ name, stamp }) => [name, stamp]));

const fileOf = (folder: string, fingerprint: string): string =>
  join(folder, `library-${fingerprint.slice(0, 32)}.json`);

/**
 * Keeps what the library looks like now under its fingerprint, so that a session which only logs the
 * fingerprint can say later, also in another process, what has changed. `folder` is a cache: when a
 * file of it is gone, the change is still noticed, but not named.
 */
export async function keepSnapshot(library: SkillLibrary, folder: string): Promise<void> {
  if (known.has(library.fingerprint)) return;
  const snapshot = snapshotOf(library);
  known.set(library.fingerprint, snapshot);
  const file = fileOf(folder, library.fingerprint);
  const temporary = `${file}.${process.pid}`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(temporary, JSON.stringify([...snapshot]), { mode: 0o600 });
    await rename(temporary, file);
  } catch {
    // Without the cache a later process cannot name the changes; nothing else is lost.
  }
}

/** What changed since the library had this fingerprint; `undefined` when nobody remembers. */
export async function changesSince(
  fingerprint: string,
  library: SkillLibrary,
  folder: string,
): Promise<SkillChanges | undefined> {
  const before = known.get(fingerprint) ?? (await readSnapshot(fileOf(folder, fingerprint)));
  if (!before) return undefined;
  const now = snapshotOf(library);
  return {
    added: [...now.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !now.has(name)),
    changed: [...now.keys()].filter((name) => before.has(name) && before.get(name) !== now.get(name)),
  };
}

async function readSnapshot(file: string): Promise<Snapshot | undefined> {
  try {
    return new Map(JSON.parse(await readFile(file, 'utf8')) as [string, string][]);
  } catch {
    return undefined;
  }
}
