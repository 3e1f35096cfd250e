import { type Dirent, readdirSync, type Stats } from 'node:fs';
import { type FileState, folderState, isSettled, kindOf, realPath, stampsFolders, statFile } from './folders.ts';
import { Patience } from './patience.ts';

interface Place {
  path: string;
  kind: string;
  real: string;
}

/** What another process needs to ask the same. */
export interface KeptSeen {
  files: [path: string, state: FileState | null][];
  folders: [path: string, state: FileState][];
  places: Place[];
}

/**
 * Everything on disk that an index was made of. Whether all of it is as it was costs far less to ask
 * than to make the index again.
 */
export class Seen {
  readonly #files: string[] = [];
  readonly #states: (FileState | undefined)[] = [];
  /** By its path the state of each folder, or all that is in it where the state could not tell. */
  readonly #folders = new Map<string, FileState | string>();
  readonly #places: Place[] = [];
  #isCertain = true;

  static from({ files, folders, places }: KeptSeen): Seen {
    const seen = new Seen();
    for (const [path, state] of files) {
      seen.#files.push(path);
      seen.#states.push(state ?? undefined);
    }
    for (const [path, state] of folders) seen.#folders.set(path, state);
    seen.#places.push(...places);
    return seen;
  }

  /** `undefined` when something may be otherwise without looking so. */
  kept(): KeptSeen | undefined {
    if (!this.#isCertain) return undefined;
    const folders: KeptSeen['folders'] = [];
    for (const [path, state] of this.#folders) {
      if (typeof state === 'string') return undefined;
      folders.push([path, state]);
    }
    const files = this.#files.map((path, index): [string, FileState | null] => [path, this.#states[index] ?? null]);
    return { files, folders, places: this.#places };
  }

  /** All that another one saw, too. */
  addAll(other: Seen): void {
    for (const path of other.#files) this.#files.push(path);
    for (const state of other.#states) this.#states.push(state);
    for (const [path, state] of other.#folders) this.#folders.set(path, state);
    this.#places.push(...other.#places);
    if (!other.#isCertain) this.#isCertain = false;
  }

  /** A file in the state it had before it was read, if it was; `undefined` when there was none. */
  file(path: string, state: FileState | undefined, readAt: number): void {
    this.#files.push(path);
    this.#states.push(state);
    if (state !== undefined && !isSettled(state, readAt)) this.#isCertain = false;
  }

  /** The entries of a folder, in the order of the file system. @throws the file system's error when it cannot be listed. */
  list(path: string): Dirent[] {
    const readAt = Date.now();
    const state = folderState(path);
    const entries = readdirSync(path, { withFileTypes: true });
    const tells = state !== undefined && isSettled(state, readAt) && stampsFolders(path, state);
    this.#folders.set(path, tells ? state : signatureOf(entries));
    return entries;
  }

  /** A link, or a path that somebody named: what it leads to may change although nothing around it does. */
  place(path: string): void {
    this.#places.push({ path, kind: kindOf(path), real: realPath(path) });
  }

  /** Something could not be read, and may be readable the next time. */
  doubt(): void {
    this.#isCertain = false;
  }

  /** Whether a new look would find the same. */
  async isStillThere(): Promise<boolean> {
    if (!this.#isCertain) return false;
    for (const { path, kind, real } of this.#places) {
      if (kindOf(path) !== kind || realPath(path) !== real) return false;
    }
    for (const [path, then] of this.#folders) {
      const isAsItWas = typeof then === 'string' ? entriesNow(path) === then : isStateOf(folderState(path), then);
      if (!isAsItWas) return false;
    }
    const patience = new Patience();
    for (let index = 0; index < this.#files.length; index++) {
      if (!isSame(statFile(this.#files[index]!), this.#states[index])) return false;
      if (index % 128 === 127) await patience.pause();
    }
    return true;
  }
}

function isSame(now: Stats | undefined, then: FileState | undefined): boolean {
  if (now === undefined || then === undefined) return now === then;
  return now.size === then.size && now.mtimeMs === then.mtime && now.ctimeMs === then.ctime && now.ino === then.inode;
}

function isStateOf(now: FileState | undefined, then: FileState): boolean {
  return now?.mtime === then.mtime && now.ctime === then.ctime && now.inode === then.inode && now.size === then.size;
}

function entriesNow(path: string): string | undefined {
  try {
    return signatureOf(readdirSync(path, { withFileTypes: true }));
  } catch {
    return undefined;
  }
}

/** Names and kinds, in the order of the file system: another order is only one more look. */
function signatureOf(entries: readonly Dirent[]): string {
  return entries.map((entry) => `${kindOfEntry(entry)}${entry.name}`).join('/');
}

function kindOfEntry(entry: Dirent): string {
  if (entry.isFile()) return 'f';
  if (entry.isDirectory()) return 'd';
  return entry.isSymbolicLink() ? 'l' : 'o';
}
