import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { hashOf } from '../hash.ts';
import { withFolderLock } from './folder-lock.ts';
import { isInstalledPath, type LockedSkills } from './lock.ts';
import { loadLock, lockPath, lockText, saveLock } from './lock-file.ts';
import { readInstalled } from './on-disk.ts';
import { type InstallPlace, targetOf } from './place.ts';
import { refused } from './refused.ts';
import type { NewFile } from './review.ts';

/** One place that changes. */
export interface Change {
  /** From the scope's folder. */
  path: string;
  /** Hash of what must lie there now, null for nothing. */
  expected: string | null;
  /** What is to lie there; nothing takes away what does. */
  next?: { files: readonly NewFile[]; content: string } | undefined;
}

/** Written before the first change and gone after the last: what to undo after a crash. */
interface Journal {
  /** Of the lock's text once everything is done. */
  lock: string;
  changes: { path: string; work: string; content: string | null; hadOld: boolean }[];
}

const WORK = /^\.install-[0-9a-f]{12}$/;
const JOURNAL = /^\.install-[0-9a-f]{12}\.json$/;
/** What `saveLock` writes before it is renamed. */
const NEXT_LOCK = /^\.skills\.lock\.[0-9a-f]{12}\.tmp$/;

/**
 * Makes all changes and writes the lock, or leaves everything as it was. New files are complete beside
 * their place before anything is renamed; what they replace is kept until the lock is written. What a
 * killed process left half done is undone first.
 * @throws ReasonixError `skill_refused` when something changed since it was looked at.
 */
export async function applyChanges(
  place: InstallPlace,
  changes: readonly Change[],
  nextLock: (locked: LockedSkills) => LockedSkills,
  signal: AbortSignal,
): Promise<void> {
  const made = await mkdir(place.folder, { recursive: true });
  try {
    await withFolderLock(place.folder, signal, async () => {
      await recover(place);
      const locked = nextLock(await loadLock(place.folder));
      await new Transaction(place, changes, locked, signal).run();
    });
  } catch (error) {
    if (made !== undefined) await removeEmpty(place.folder, dirname(made));
    throw notWritten(place, signal, error);
  }
}

function notWritten({ folder }: InstallPlace, signal: AbortSignal, error: unknown): unknown {
  if (ReasonixError.isInstance(error) || signal.aborted) return error;
  return refused(
    `the skills could not be written to ${folder}: ${messageOf(error)}`,
    'nothing was changed; check permissions and free space',
    error,
  );
}

/**
 * Undoes what a killed process left half done, before anybody looks at the place to plan: new files whose
 * lock was never written would pass for edits of the user. Waits for a process that is at work.
 */
export async function settle(place: InstallPlace, signal: AbortSignal): Promise<void> {
  if ((await leftIn(place)).length === 0) return;
  try {
    await withFolderLock(place.folder, signal, () => recover(place));
  } catch (error) {
    throw notWritten(place, signal, error);
  }
}

interface Step {
  change: Change;
  target: string;
  /** Holds the new files, and what was there. */
  work: string;
}

class Transaction {
  readonly #place: InstallPlace;
  readonly #changes: readonly Change[];
  readonly #locked: LockedSkills;
  readonly #signal: AbortSignal;
  readonly #id = `.install-${randomBytes(6).toString('hex')}`;
  readonly #journal: string;
  readonly #steps: Step[] = [];
  readonly #madeFolders: string[] = [];

  constructor(place: InstallPlace, changes: readonly Change[], locked: LockedSkills, signal: AbortSignal) {
    this.#place = place;
    this.#changes = changes;
    this.#locked = locked;
    this.#signal = signal;
    this.#journal = join(place.folder, `${this.#id}.json`);
  }

  async run(): Promise<void> {
    try {
      await this.#stage();
      // from here on it is done or undone, not stopped
      this.#signal.throwIfAborted();
      await this.#writeJournal();
      await this.#swap();
      await saveLock(this.#place.folder, this.#locked);
    } catch (error) {
      await this.#undo();
      throw error;
    }
    await this.#tidy();
  }

  async #stage(): Promise<void> {
    for (const [index, change] of this.#changes.entries()) {
      this.#signal.throwIfAborted();
      const target = await targetOf(this.#place, change.path);
      const now = await readInstalled(target);
      const content = now.is === 'present' ? now.content : null;
      if (now.is === 'foreign' || content !== change.expected) {
        throw refused(`${target} changed in the meantime`, 'nothing was changed; start again');
      }
      const root = dirname(target);
      const madeRoot = await mkdir(root, { recursive: true });
      if (madeRoot !== undefined) this.#madeFolders.push(root);
      const work = join(root, this.#id, String(index));
      await mkdir(work, { recursive: true });
      this.#steps.push({ change, target, work });
      if (change.next !== undefined) await writeFiles(join(work, 'new'), target, change.next.files, this.#signal);
    }
  }

  async #writeJournal(): Promise<void> {
    const journal: Journal = {
      lock: await hashOf(this.#locked.size === 0 ? '' : lockText(this.#locked)),
      changes: this.#steps.map(({ change, work }) => ({
        path: change.path,
        work: basename(work),
        content: change.next?.content ?? null,
        hadOld: change.expected !== null,
      })),
    };
    await writeSynced(this.#journal, JSON.stringify(journal));
  }

  async #swap(): Promise<void> {
    for (const { change, target, work } of this.#steps) {
      if (change.expected !== null) await rename(target, join(work, 'old'));
      if (change.next !== undefined) await rename(join(work, 'new'), target);
    }
  }

  async #undo(): Promise<void> {
    for (const { change, target, work } of [...this.#steps].reverse()) {
      await restore(target, work, { content: change.next?.content ?? null, hadOld: change.expected !== null });
    }
    await this.#tidy();
    for (const folder of this.#madeFolders) await rmdir(folder).catch(() => {});
  }

  async #tidy(): Promise<void> {
    const works = new Set(this.#steps.map(({ target }) => join(dirname(target), this.#id)));
    for (const work of works) await rm(work, { recursive: true, force: true });
    await rm(this.#journal, { force: true });
  }
}

/** Puts back what was there, once a step was begun; does nothing to one that was not. */
async function restore(
  target: string,
  work: string,
  step: Pick<Journal['changes'][number], 'content' | 'hadOld'>,
): Promise<void> {
  const isSwapped = step.content !== null && !(await exists(join(work, 'new')));
  if (isSwapped && (!step.hadOld || (await exists(join(work, 'old'))))) {
    const now = await readInstalled(target);
    if (now.is === 'present' && now.content === step.content) await rename(target, join(work, 'undone'));
  }
  if (step.hadOld && (await exists(join(work, 'old'))) && !(await exists(target)))
    await rename(join(work, 'old'), target);
}

/** Undoes what a process left half done, and clears away what it had prepared. Needs the folder's lock. */
export async function recover(place: InstallPlace): Promise<void> {
  const lock = await readFile(lockPath(place.folder), 'utf8').catch(() => '');
  for (const name of await namesIn(place.folder, JOURNAL)) {
    const file = join(place.folder, name);
    const journal = readJournal(await readFile(file, 'utf8').catch(() => ''));
    if (journal !== undefined && journal.lock !== (await hashOf(lock))) {
      for (const { path, work, ...step } of [...journal.changes].reverse()) {
        const target = await targetOf(place, path);
        await restore(target, join(dirname(target), name.slice(0, -5), work), step);
      }
    }
    await rm(file, { force: true });
  }
  for (const each of await leftIn(place)) await rm(each, { recursive: true, force: true });
}

/** Journals and prepared files that are there now. */
async function leftIn(place: InstallPlace): Promise<string[]> {
  const left: string[] = [];
  for (const pattern of [JOURNAL, NEXT_LOCK]) {
    left.push(...(await namesIn(place.folder, pattern)).map((name) => join(place.folder, name)));
  }
  for (const root of ['skills', 'agents']) {
    const folder = dirname(await targetOf(place, `${root}/x`));
    left.push(...(await namesIn(folder, WORK)).map((name) => join(folder, name)));
  }
  return left;
}

const namesIn = async (folder: string, pattern: RegExp): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).filter((name) => pattern.test(name));

/** It lies in a folder that may come with a repository: nothing but places of skills can be named. */
function readJournal(text: string): Journal | undefined {
  try {
    const { lock, changes } = JSON.parse(text) as Journal;
    const isUsable = changes.every(
      ({ path, work, content, hadOld }) =>
        isInstalledPath(path) &&
        /^\d+$/.test(work) &&
        (content === null || typeof content === 'string') &&
        typeof hadOld === 'boolean',
    );
    return isUsable && typeof lock === 'string' ? { lock, changes } : undefined;
  } catch {
    return undefined;
  }
}

async function writeFiles(
  place: string,
  target: string,
  files: readonly NewFile[],
  signal: AbortSignal,
): Promise<void> {
  if (target.endsWith('.md')) {
    await writeFile(place, files[0]!.bytes, { flag: 'wx', mode: 0o644 });
    return;
  }
  await mkdir(place);
  for (const { path, bytes, executable } of files) {
    signal.throwIfAborted();
    const file = join(place, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes, { flag: 'wx', mode: executable ? 0o755 : 0o644 });
  }
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const exists = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined)) !== undefined;

async function removeEmpty(folder: string, until: string): Promise<void> {
  for (let each = folder; each !== until && each !== dirname(each); each = dirname(each)) {
    try {
      await rmdir(each);
    } catch {
      return;
    }
  }
}
