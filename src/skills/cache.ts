import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FileState } from './folders.ts';
import { quickHash } from './hash.ts';
import type { KeptHeader } from './kept-header.ts';
import type { FoundFile } from './scan.ts';
import type { Diagnostic } from './types.ts';

/** Changes with the shape of what is kept, or with what the parser makes of a file. */
const VERSION = 1;
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;

/** What is known about one file. */
export interface CacheEntry extends FileState {
  file: string;
  layout: FoundFile['layout'];
  plugin?: string | undefined;
  /** By the clock, when the file was read. */
  readAt: number;
  contentHash: string;
  hasKnownKey: boolean;
  /** Absent when the file gives no usable name. */
  header?: KeptHeader | undefined;
  diagnostics?: Diagnostic[] | undefined;
}

/**
 * The headers of one root's files. Deleting the folder it lives in costs one slow start and nothing
 * else; a file that is damaged or of another version is as good as none.
 */
export class HeaderCache {
  readonly #folder: string;
  readonly #file: string;
  readonly #entries: Map<string, CacheEntry>;
  #changed = false;

  constructor(folder: string, rootKey: string) {
    this.#folder = folder;
    this.#file = join(folder, `skills-${quickHash([rootKey])}.json`);
    this.#entries = readEntries(this.#file);
  }

  /** The entry of the file as it was when it was last looked at, whether or not it still holds. */
  get({ file, layout, plugin }: FoundFile): CacheEntry | undefined {
    const entry = this.#entries.get(file);
    // the same file elsewhere in the tree, as an agent or under a plugin, is another skill
    return entry !== undefined && entry.layout === layout && entry.plugin === plugin ? entry : undefined;
  }

  set(entry: CacheEntry): void {
    this.#entries.set(entry.file, entry);
    this.#changed = true;
  }

  /** Forgets all but these entries, and writes when something differs. */
  save(current: readonly CacheEntry[]): void {
    if (current.length !== this.#entries.size) {
      this.#changed = true;
      this.#entries.clear();
      for (const entry of current) this.#entries.set(entry.file, entry);
    }
    if (!this.#changed) return;
    this.#changed = false;
    writeEntries(this.#folder, this.#file, current);
  }
}

/**
 * Whether the file is the one that was read. A file that changed at about the time it was read may
 * have changed once more within the same tick of its clock, so that only its bytes can tell.
 */
export function isUnchanged(entry: CacheEntry, now: FileState): boolean {
  const same =
    entry.size === now.size && entry.mtime === now.mtime && entry.ctime === now.ctime && entry.inode === now.inode;
  if (!same) return false;
  const coarse = now.ctime % 1_000 === 0 && now.mtime % 1_000 === 0;
  return Math.max(now.ctime, now.mtime) < entry.readAt - (coarse ? 2_500 : 50);
}

function readEntries(file: string): Map<string, CacheEntry> {
  const entries = new Map<string, CacheEntry>();
  try {
    // by way of a buffer, which is twice as fast for the megabytes of a large library
    const { version, files } = JSON.parse(readFileSync(file).toString('utf8')) as {
      version: unknown;
      files: CacheEntry[];
    };
    if (version !== buildVersion() || !files.every(isEntry)) return new Map();
    for (const entry of files) entries.set(entry.file, entry);
    return entries;
  } catch {
    return new Map();
  }
}

function isEntry(entry: CacheEntry): boolean {
  return (
    typeof entry.file === 'string' &&
    typeof entry.size === 'number' &&
    typeof entry.mtime === 'number' &&
    typeof entry.ctime === 'number' &&
    typeof entry.inode === 'number' &&
    typeof entry.readAt === 'number' &&
    typeof entry.contentHash === 'string' &&
    (entry.header === undefined || typeof entry.header.name === 'string') &&
    (entry.diagnostics === undefined || Array.isArray(entry.diagnostics))
  );
}

function writeEntries(folder: string, file: string, files: readonly CacheEntry[]): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, JSON.stringify({ version: buildVersion(), files }), { mode: 0o600 });
    renameSync(temporary, file);
    void forgetOld(folder);
  } catch {
    // a read-only home or a full disk: the next start reads the files again
    discard(temporary);
  }
}

function discard(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // nothing that could be done about it here
  }
}

/** Caches of roots that nobody changed for long; a lost one costs one slow start. */
async function forgetOld(folder: string): Promise<void> {
  try {
    for (const name of await readdir(folder)) {
      if (!/^skills-[0-9a-f]+\.json/.test(name)) continue;
      const path = join(folder, name);
      if (Date.now() - (await stat(path)).mtimeMs > FORGET_AFTER_MS) await rm(path, { force: true });
    }
  } catch {
    // another process tidies the same folder
  }
}

let build: string | undefined;

/** A new build may read files differently: the code's own file tells builds apart. */
function buildVersion(): string {
  if (build === undefined) {
    const code = statSync(fileURLToPath(import.meta.url), { throwIfNoEntry: false });
    build = `${VERSION}:${code?.size ?? 0}:${code?.mtimeMs ?? 0}`;
  }
  return build;
}
