import { join } from 'node:path';
import {
  type Addition,
  append,
  buildVersion,
  type Columns,
  type Extra,
  isSound,
  type MoreHeader,
  noColumns,
  put,
  readColumns,
  rowsOf,
  writeColumns,
} from './cache-file.ts';
import { isSettled, prefixOf } from './folders.ts';
import { quickHash } from './hash.ts';
import type { KeptHeader } from './kept-header.ts';
import type { Root } from './roots.ts';
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
  /** What the paths of its files begin with. */
  readonly #before: string;
  #columns: Columns;
  /** Lines after the columns. */
  #additions: number;
  #unwritten: Addition[] = [];
  /** Rows of this pass, in its order. */
  #used: number[] = [];
  /** Where the next file is, unless something came or went. */
  #next = 0;
  #rows: Map<string, number> | undefined;

  constructor(folder: string, root: Pick<Root, 'kind' | 'path'>) {
    this.#folder = folder;
    this.#file = join(folder, `skills-${quickHash([`${root.kind}:${root.path}`])}.cache`);
    this.#before = prefixOf(root.path);
    const { columns, additions } = readColumns(this.#file);
    this.#columns = columns;
    this.#additions = additions;
  }

  /** What is known about a file that has not changed. */
  get(found: FoundFile): Known | undefined {
    const row = this.#rowOf(this.#pathOf(found.file));
    if (row === undefined) return undefined;
    const { states } = this.#columns;
    const at = 4 * row;
    const same =
      states[at] === found.size &&
      states[at + 1] === found.mtime &&
      states[at + 2] === found.ctime &&
      states[at + 3] === found.inode;
    const known = same ? this.#known(row, found) : undefined;
    if (known !== undefined) this.#used.push(row);
    return known;
  }

  /** What was known before the file changed, if it did. */
  getOld(found: FoundFile): Known | undefined {
    const row = this.#rowOf(this.#pathOf(found.file));
    return row === undefined ? undefined : this.#known(row, found);
  }

  /** `readAt` is the clock's time just before the file was read. */
  set(found: FoundFile, known: Known, readAt: number): void {
    const path = this.#pathOf(found.file);
    const row = this.#rowOf(path) ?? this.#columns.texts.length / 4;
    const addition: Addition = {
      version: buildVersion(),
      row,
      texts: [path, known.contentHash, known.header?.name ?? '', known.header?.description ?? ''],
      state: isSettled(found, readAt) ? [found.size, found.mtime, found.ctime, found.inode] : [-1, 0, 0, 0],
      extra: extraOf(found, known),
    };
    put(this.#columns, row, addition);
    this.#rows?.set(path, row);
    this.#unwritten.push(addition);
    this.#used.push(row);
    this.#next = row + 1;
  }

  /** Ends the pass: writes what was learned, and forgets files that are gone once they are many. */
  save(): void {
    const files = this.#columns.texts.length / 4;
    const additions = this.#unwritten;
    const gone = files - this.#used.length;
    const isLong = additions.length > 0 && this.#additions + additions.length > loose(files);
    if (isLong || gone > loose(files)) {
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

  #pathOf(file: string): string {
    return file.startsWith(this.#before) ? file.slice(this.#before.length) : file;
  }

  #rowOf(path: string): number | undefined {
    const { texts } = this.#columns;
    if (texts[4 * this.#next] === path) return this.#next++;
    if (this.#next > 0 && texts[4 * (this.#next - 1)] === path) return this.#next - 1;
    this.#rows ??= rowsOf(this.#columns);
    const row = this.#rows.get(path);
    if (row !== undefined) this.#next = row + 1;
    return row;
  }

  /** Unless the row is unsound. The same file elsewhere in the tree, as an agent or under a plugin, is another skill. */
  #known(row: number, { layout, plugin }: FoundFile): Known | undefined {
    const { texts, extras } = this.#columns;
    const extra = extras[row];
    const isOf = isSound(extra) && (extra?.layout ?? 'folder') === layout && extra?.plugin === plugin;
    if (!isOf) return undefined;
    return {
      contentHash: texts[4 * row + 1]!,
      hasKnownKey: extra?.noKey !== true,
      header: headerOf(texts[4 * row + 2]!, texts[4 * row + 3]!, extra?.header),
      diagnostics: extra?.diagnostics,
    };
  }
}

function extraOf({ layout, plugin }: FoundFile, { hasKnownKey, header, diagnostics }: Known): Extra | undefined {
  const extra: Extra = {};
  if (layout !== 'folder') extra.layout = layout;
  if (plugin !== undefined) extra.plugin = plugin;
  if (!hasKnownKey) extra.noKey = true;
  if (diagnostics !== undefined && diagnostics.length > 0) extra.diagnostics = diagnostics;
  const { name: _name, description: _description, ...more }: Partial<KeptHeader> = header ?? {};
  if (isAny(more)) extra.header = more;
  return isAny(extra) ? extra : undefined;
}

function headerOf(name: string, description: string, more: MoreHeader | undefined): KeptHeader | undefined {
  if (name === '') return undefined;
  return more === undefined ? { name, description } : { ...more, name, description };
}

function isAny(object: Extra | MoreHeader): boolean {
  for (const _ in object) return true;
  return false;
}

function reordered({ texts, states, extras }: Columns, rows: readonly number[]): Columns {
  const columns = noColumns();
  for (const [row, old] of rows.entries()) {
    const [at, end] = [4 * old, 4 * old + 4];
    put(columns, row, { texts: texts.slice(at, end), state: states.subarray(at, end), extra: extras[old] });
  }
  return columns;
}
