import { mkdirSync, readFileSync, renameSync, rmSync, type Stats, statSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { quickHash } from './hash.ts';
import type { ParsedSkill } from './parse.ts';
import type { FoundFile } from './scan.ts';
import type { Diagnostic, Skill } from './types.ts';

/** Changes with the shape of what is kept, or with what the parser makes of a file. */
const VERSION = 1;
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;

/** What a file's header says, without what depends on where it was found. */
export type KeptSkill = Partial<
  Omit<Skill, 'file' | 'folder' | 'root' | 'scope' | 'layout' | 'stamp' | 'diagnostics' | 'shadows'>
>;

export interface CacheEntry {
  size: number;
  /** Milliseconds with fractions: finer than any clock that stamps files. */
  mtime: number;
  ctime: number;
  inode: number;
  /** By the clock, when the file was read. */
  readAt: number;
  contentHash: string;
  hasKnownKey: boolean;
  skill?: KeptSkill | undefined;
  diagnostics: Diagnostic[];
}

/**
 * The headers of one root's files. Deleting the folder it lives in costs one slow start and nothing
 * else; a file that is damaged or of another version is as good as none.
 */
export class HeaderCache {
  readonly #folder: string;
  readonly #file: string;
  #entries: Map<string, CacheEntry>;
  #next = new Map<string, CacheEntry>();
  #changed = false;

  constructor(folder: string, rootKey: string) {
    this.#folder = folder;
    this.#file = join(folder, `skills-${quickHash([rootKey])}.json`);
    this.#entries = readEntries(this.#file);
  }

  /** The entry of the file as it was when it was last looked at, whether or not it still holds. */
  get(key: string): CacheEntry | undefined {
    return this.#entries.get(key);
  }

  keep(key: string, entry: CacheEntry): void {
    if (this.#entries.get(key) !== entry) this.#changed = true;
    this.#next.set(key, entry);
  }

  /** Forgets what was not kept since the last time, and writes when something differs. */
  save(): void {
    this.#changed ||= this.#next.size !== this.#entries.size;
    this.#entries = this.#next;
    this.#next = new Map();
    if (!this.#changed) return;
    this.#changed = false;
    writeEntries(this.#folder, this.#file, this.#entries);
  }
}

/** One file may stand in for several skills: its plugin and its layout decide the name and the kind. */
export const cacheKey = ({ file, layout, plugin }: FoundFile): string => `${layout}:${plugin ?? ''}:${file}`;

/**
 * Whether the file is the one that was read. A file that changed at about the time it was read may
 * have changed once more within the same tick of its clock, so that only its bytes can tell.
 */
export function isUnchanged(entry: CacheEntry, now: Stats): boolean {
  const same =
    entry.size === now.size && entry.mtime === now.mtimeMs && entry.ctime === now.ctimeMs && entry.inode === now.ino;
  if (!same) return false;
  const coarse = now.ctimeMs % 1_000 === 0 && now.mtimeMs % 1_000 === 0;
  return Math.max(now.ctimeMs, now.mtimeMs) < entry.readAt - (coarse ? 2_500 : 50);
}

export function toEntry(parsed: ParsedSkill, now: Stats, readAt: number): CacheEntry {
  return {
    ...timesOf(now),
    readAt,
    contentHash: parsed.contentHash,
    hasKnownKey: parsed.hasKnownKey,
    ...(parsed.skill === undefined ? {} : { skill: compact(parsed.skill) }),
    diagnostics: parsed.diagnostics,
  };
}

export const timesOf = (now: Stats): Pick<CacheEntry, 'size' | 'mtime' | 'ctime' | 'inode'> => ({
  size: now.size,
  mtime: now.mtimeMs,
  ctime: now.ctimeMs,
  inode: now.ino,
});

/** A header in full; every call gives fresh objects. */
export function expand(
  kept: KeptSkill,
): Omit<Skill, 'file' | 'folder' | 'root' | 'scope' | 'layout' | 'stamp' | 'diagnostics' | 'shadows'> {
  return {
    name: '',
    description: '',
    runAs: 'inline',
    invocation: 'auto',
    disableModelInvocation: false,
    userInvocable: true,
    disallowedTools: [],
    readOnly: false,
    argumentNames: [],
    requires: [],
    preload: [],
    required: [],
    limits: {},
    inherit: [],
    metadata: {},
    ...kept,
  };
}

const PLACE = new Set(['file', 'folder', 'root', 'scope', 'layout', 'stamp', 'diagnostics', 'shadows']);

/** Without defaults, so that the index of a large library stays small. */
function compact(skill: Skill): KeptSkill {
  const defaults: Record<string, unknown> = expand({});
  const kept = Object.entries(skill).filter(
    ([key, value]) => !PLACE.has(key) && value !== undefined && JSON.stringify(value) !== JSON.stringify(defaults[key]),
  );
  return Object.fromEntries(kept) as KeptSkill;
}

type Row = [
  key: string,
  size: number,
  mtime: number,
  ctime: number,
  inode: number,
  readAt: number,
  contentHash: string,
  hasKnownKey: boolean,
  skill: KeptSkill | null,
  diagnostics: Diagnostic[],
];

function readEntries(file: string): Map<string, CacheEntry> {
  try {
    const { version, rows } = JSON.parse(readFileSync(file, 'utf8')) as { version: unknown; rows: Row[] };
    if (version !== buildVersion() || !Array.isArray(rows) || !rows.every(isRow)) return new Map();
    return new Map(rows.map((row) => [row[0], fromRow(row)]));
  } catch {
    return new Map();
  }
}

function isRow(row: Row): boolean {
  if (!Array.isArray(row) || row.length !== 10 || typeof row[0] !== 'string' || typeof row[6] !== 'string')
    return false;
  const [, size, mtime, ctime, inode, readAt, , , skill, diagnostics] = row;
  const numbers = [size, mtime, ctime, inode, readAt].every((each) => typeof each === 'number');
  const named = skill === null || (typeof skill === 'object' && typeof skill.name === 'string');
  return numbers && named && Array.isArray(diagnostics);
}

function fromRow([, size, mtime, ctime, inode, readAt, contentHash, hasKnownKey, skill, diagnostics]: Row): CacheEntry {
  return { size, mtime, ctime, inode, readAt, contentHash, hasKnownKey, skill: skill ?? undefined, diagnostics };
}

const toRow = (key: string, entry: CacheEntry): Row => [
  key,
  entry.size,
  entry.mtime,
  entry.ctime,
  entry.inode,
  entry.readAt,
  entry.contentHash,
  entry.hasKnownKey,
  entry.skill ?? null,
  entry.diagnostics,
];

function writeEntries(folder: string, file: string, entries: ReadonlyMap<string, CacheEntry>): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const rows = [...entries].map(([key, entry]) => toRow(key, entry));
    writeFileSync(temporary, JSON.stringify({ version: buildVersion(), rows }), { mode: 0o600 });
    renameSync(temporary, file);
    void forgetOld(folder);
  } catch {
    // a read-only home or a full disk: the next start reads the files again
    rmSync(temporary, { force: true });
  }
}

/** Caches of roots that nobody opened for long; opening writes now and then, a lost one costs little. */
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
