import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSettled } from './folders.ts';
import { quickHash } from './hash.ts';
import type { KeptHeader } from './kept-header.ts';
import type { FoundFile } from './scan.ts';
import type { Diagnostic } from './types.ts';

/** Changes with the shape of what is kept, or with what the parser makes of a file. */
const VERSION = 2;
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;
/** So many files may be added to what is kept, or stay in it for nothing, before all of it is written anew. */
const loose = (files: number): number => 64 + files / 8;

/** What was learned by reading one file. */
export interface Known {
  contentHash: string;
  hasKnownKey: boolean;
  /** Absent when the file gives no usable name. */
  header?: KeptHeader | undefined;
  diagnostics?: Diagnostic[] | undefined;
}

/** What few files have besides a header. */
interface Extra {
  layout?: FoundFile['layout'];
  plugin?: string | undefined;
  noKey?: true;
  diagnostics?: Diagnostic[];
}

/** A column each, since a library of thousands is read at every start: objects a file would cost more than the rest. */
interface Columns {
  files: string[];
  /** Four numbers a file: size, mtime, ctime, inode; a size of -1 when the state told nothing. */
  states: number[];
  hashes: string[];
  headers: (KeptHeader | null)[];
  extras: Record<number, Extra>;
}

/** One file that was read after the columns had been written; a line of its own. */
interface Addition {
  version: string;
  row: number;
  file: string;
  state: number[];
  hash: string;
  header: KeptHeader | null;
  extra?: Extra | undefined;
}

/**
 * The headers of one root's files. Deleting the folder it lives in costs one slow start and nothing
 * else; a file that is damaged or of another version is as good as none. A pass asks for every file
 * of the root in the order of the scan, and ends with `save`.
 */
export class HeaderCache {
  readonly #folder: string;
  readonly #file: string;
  #columns: Columns;
  /** Lines after the columns. */
  #additions: number;
  #unwritten: Addition[] = [];
  /** Rows of this pass, in its order. */
  #used: number[] = [];
  /** Where the next file is, unless something came or went. */
  #next = 0;
  #rows: Map<string, number> | undefined;

  constructor(folder: string, rootKey: string) {
    this.#folder = folder;
    this.#file = join(folder, `skills-${quickHash([rootKey])}.json`);
    const { columns, additions } = readColumns(this.#file);
    this.#columns = columns;
    this.#additions = additions;
  }

  /** What is known about a file that has not changed. */
  get(found: FoundFile): Known | undefined {
    const row = this.#rowOf(found.file);
    if (row === undefined) return undefined;
    const { states } = this.#columns;
    const at = 4 * row;
    const same =
      states[at] === found.size &&
      states[at + 1] === found.mtime &&
      states[at + 2] === found.ctime &&
      states[at + 3] === found.inode;
    if (!same || !this.#isOf(row, found)) return undefined;
    this.#used.push(row);
    return this.#known(row);
  }

  /** What was known before the file changed, if it did. */
  getOld(found: FoundFile): Known | undefined {
    const row = this.#rowOf(found.file);
    return row !== undefined && this.#isOf(row, found) ? this.#known(row) : undefined;
  }

  /** `readAt` is the clock's time just before the file was read. */
  set(found: FoundFile, known: Known, readAt: number): void {
    const { file } = found;
    const { files } = this.#columns;
    const row = this.#rowOf(file) ?? files.length;
    const state = isSettled(found, readAt) ? [found.size, found.mtime, found.ctime, found.inode] : [-1, 0, 0, 0];
    const addition: Addition = {
      version: buildVersion(),
      row,
      file,
      state,
      hash: known.contentHash,
      header: known.header ?? null,
      extra: extraOf(found, known),
    };
    put(this.#columns, row, addition);
    this.#rows?.set(file, row);
    this.#unwritten.push(addition);
    this.#used.push(row);
    this.#next = row + 1;
  }

  /** Ends the pass: writes what was learned, and forgets files that are gone once they are many. */
  save(): void {
    const { length } = this.#columns.files;
    const additions = this.#unwritten;
    const gone = length - this.#used.length;
    const isLong = additions.length > 0 && this.#additions + additions.length > loose(length);
    if (isLong || gone > loose(length)) {
      this.#columns = reordered(this.#columns, this.#used);
      this.#rows = undefined;
      this.#additions = 0;
      writeColumns(this.#folder, this.#file, this.#columns);
    } else if (additions.length > 0) {
      this.#additions += additions.length;
      if (!append(this.#file, additions)) writeColumns(this.#folder, this.#file, this.#columns);
    }
    this.#unwritten = [];
    this.#used = [];
    this.#next = 0;
  }

  #rowOf(file: string): number | undefined {
    const { files } = this.#columns;
    if (files[this.#next] === file) return this.#next++;
    if (files[this.#next - 1] === file) return this.#next - 1;
    this.#rows ??= new Map(files.map((each, row) => [each, row]));
    const row = this.#rows.get(file);
    if (row !== undefined) this.#next = row + 1;
    return row;
  }

  /** The same file elsewhere in the tree, as an agent or under a plugin, is another skill. */
  #isOf(row: number, { layout, plugin }: FoundFile): boolean {
    const extra = this.#columns.extras[row];
    return (extra?.layout ?? 'folder') === layout && extra?.plugin === plugin;
  }

  #known(row: number): Known {
    const { hashes, headers, extras } = this.#columns;
    const extra = extras[row];
    return {
      contentHash: hashes[row]!,
      hasKnownKey: extra?.noKey !== true,
      header: headers[row] ?? undefined,
      diagnostics: extra?.diagnostics,
    };
  }
}

function extraOf({ layout, plugin }: FoundFile, { hasKnownKey, diagnostics }: Known): Extra | undefined {
  const extra: Extra = {};
  if (layout !== 'folder') extra.layout = layout;
  if (plugin !== undefined) extra.plugin = plugin;
  if (!hasKnownKey) extra.noKey = true;
  if (diagnostics !== undefined && diagnostics.length > 0) extra.diagnostics = diagnostics;
  for (const _ in extra) return extra;
  return undefined;
}

function put(columns: Columns, row: number, { file, state, hash, header, extra }: Addition): void {
  columns.files[row] = file;
  for (let index = 0; index < 4; index++) columns.states[4 * row + index] = state[index]!;
  columns.hashes[row] = hash;
  columns.headers[row] = header;
  if (extra === undefined) delete columns.extras[row];
  else columns.extras[row] = extra;
}

function reordered(old: Columns, rows: readonly number[]): Columns {
  const columns: Columns = { files: [], states: [], hashes: [], headers: [], extras: {} };
  for (const row of rows) {
    const extra = old.extras[row];
    if (extra !== undefined) columns.extras[columns.files.length] = extra;
    columns.files.push(old.files[row]!);
    for (let at = 4 * row; at < 4 * row + 4; at++) columns.states.push(old.states[at]!);
    columns.hashes.push(old.hashes[row]!);
    columns.headers.push(old.headers[row] ?? null);
  }
  return columns;
}

function readColumns(file: string): { columns: Columns; additions: number } {
  try {
    // of ASCII only, so that the megabytes of a large library need no decoding
    const text = readFileSync(file, 'latin1');
    const end = text.indexOf('\n');
    const { version, ...columns } = JSON.parse(text.slice(0, end)) as Columns & { version: unknown };
    if (version !== buildVersion() || !areColumns(columns)) throw new Error('not of this build');
    const lines = text.slice(end + 1).split('\n');
    // the last line was cut, or is empty
    const additions = lines.slice(0, -1).flatMap((line) => readAddition(line) ?? []);
    if (additions.length > 0) add(columns, additions);
    return { columns, additions: lines.length - 1 };
  } catch {
    // nothing may be added to what cannot be read
    return {
      columns: { files: [], states: [], hashes: [], headers: [], extras: {} },
      additions: Number.POSITIVE_INFINITY,
    };
  }
}

function readAddition(line: string): Addition | undefined {
  try {
    const addition = JSON.parse(line) as Addition;
    const { version, row, file, state, hash, header, extra } = addition;
    const columns = { files: [file], states: state, hashes: [hash], headers: [header], extras: extra ? [extra] : [] };
    return version === buildVersion() && Number.isInteger(row) && areColumns(columns) ? addition : undefined;
  } catch {
    return undefined;
  }
}

/** Other processes may have written since the row was chosen: the file decides where an addition goes. */
function add(columns: Columns, additions: readonly Addition[]): void {
  let rows: Map<string, number> | undefined;
  for (const addition of additions) {
    let { row } = addition;
    if (columns.files[row] !== addition.file) {
      rows ??= new Map(columns.files.map((file, index) => [file, index]));
      row = rows.get(addition.file) ?? columns.files.length;
      rows.set(addition.file, row);
    }
    put(columns, row, addition);
  }
}

function areColumns({ files, states, hashes, headers, extras }: Columns): boolean {
  const count = files.length;
  if (states.length !== 4 * count || hashes.length !== count || headers.length !== count) return false;
  return (
    files.every((file) => typeof file === 'string') &&
    states.every((each) => typeof each === 'number') &&
    hashes.every((hash) => typeof hash === 'string') &&
    headers.every((header) => header === null || typeof header.name === 'string') &&
    Object.values(extras).every(({ diagnostics }) => diagnostics === undefined || Array.isArray(diagnostics))
  );
}

const inAscii = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

function writeColumns(folder: string, file: string, columns: Columns): void {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, `${inAscii({ version: buildVersion(), ...columns })}\n`, { mode: 0o600 });
    renameSync(temporary, file);
    void forgetOld(folder);
  } catch {
    // a read-only home or a full disk: the next start reads the files again
    discard(temporary);
  }
}

/** False when there is no file to add to. */
function append(file: string, additions: readonly Addition[]): boolean {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return false;
  try {
    appendFileSync(file, additions.map((addition) => `${inAscii(addition)}\n`).join(''), { mode: 0o600 });
  } catch {
    // as when it cannot be written: the next start reads these files again
  }
  return true;
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
