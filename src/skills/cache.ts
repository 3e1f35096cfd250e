import { join } from 'node:path';
import {
  type Addition,
  append,
  buildVersion,
  type Columns,
  type Extra,
  isSound,
  put,
  readColumns,
  writeColumns,
} from './cache-file.ts';
import { isSettled } from './folders.ts';
import { quickHash } from './hash.ts';
import type { KeptHeader } from './kept-header.ts';
import type { FoundFile } from './scan.ts';
import type { Diagnostic } from './types.ts';

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
    if (!same || !this.#isOf(row, found) || !isSound(this.#columns, row)) return undefined;
    this.#used.push(row);
    return this.#known(row);
  }

  /** What was known before the file changed, if it did. */
  getOld(found: FoundFile): Known | undefined {
    const row = this.#rowOf(found.file);
    const isUsable = row !== undefined && this.#isOf(row, found) && isSound(this.#columns, row);
    return isUsable ? this.#known(row) : undefined;
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
