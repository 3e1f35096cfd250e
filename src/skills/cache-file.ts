import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KeptHeader } from './kept-header.ts';
import type { FoundFile } from './scan.ts';
import type { Diagnostic } from './types.ts';

/** Changes with the shape of what is kept, or with what the parser makes of a file. */
const VERSION = 4;
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;

/** What few files have besides a name and a description. */
export interface Extra {
  layout?: FoundFile['layout'];
  plugin?: string | undefined;
  noKey?: true;
  diagnostics?: Diagnostic[];
  header?: MoreHeader;
}

export type MoreHeader = Omit<KeptHeader, 'name' | 'description'>;

/** Lists by row, since a library of thousands is read at every start: objects a file would cost more than the rest. */
export interface Columns {
  /** Four texts a file: path (below the root, if it is there), hash of the content, name, description. No name: no header. */
  texts: string[];
  /** Four numbers a file: size, mtime, ctime, inode; a size of -1 when the state told nothing. Room for more may follow. */
  states: Float64Array;
  extras: Record<number, Extra>;
}

/** One file that was read after the columns had been written; a line of its own. */
export interface Addition {
  version: string;
  row: number;
  texts: string[];
  state: number[];
  extra?: Extra | undefined;
}

export const noColumns = (): Columns => ({ texts: [], states: new Float64Array(0), extras: {} });

type Row = Pick<Addition, 'texts' | 'extra'> & { state: ArrayLike<number> };

export function put(columns: Columns, row: number, { texts, state, extra }: Row): void {
  const at = 4 * row;
  if (columns.states.length < at + 4) {
    const { states } = columns;
    columns.states = new Float64Array(2 * (at + 4));
    columns.states.set(states);
  }
  for (let index = 0; index < 4; index++) columns.texts[at + index] = texts[index]!;
  columns.states.set(state, at);
  if (extra === undefined) delete columns.extras[row];
  else columns.extras[row] = extra;
}

/**
 * The first line of the file. After it the texts, a line each, then the states as they lie in memory,
 * then additions: reading costs by the byte, and JSON once more. Damage shows in the number of lines, or
 * makes states that no file has.
 */
interface Head {
  version: string;
  files: number;
  /** Bytes of the texts. */
  length: number;
  extras: Record<number, Extra>;
}

export function readColumns(file: string): { columns: Columns; additions: number } {
  try {
    const bytes = readFileSync(file);
    const start = bytes.indexOf('\n') + 1;
    const { version, files, length, extras } = JSON.parse(bytes.toString('latin1', 0, start)) as Head;
    const isOurs = version === buildVersion() && typeof extras === 'object' && extras !== null;
    if (!isOurs) throw new Error('not of this build');
    const middle = start + length;
    const end = middle + 32 * files;
    const texts = files === 0 ? [] : readTexts(bytes.toString('latin1', start, middle));
    if (texts.length !== 4 * files || end > bytes.length) throw new Error('damaged');
    // a copy: numbers have to begin at a multiple of eight
    const { buffer, byteOffset } = bytes;
    const states = new Float64Array(buffer.slice(byteOffset + middle, byteOffset + end));
    const columns: Columns = { texts, states, extras };
    const lines = bytes.toString('latin1', end).split('\n');
    // the last line was cut, or is empty
    const additions = lines.slice(0, -1).flatMap((line) => readAddition(line) ?? []);
    if (additions.length > 0) add(columns, additions);
    return { columns, additions: lines.length - 1 };
  } catch {
    // nothing may be added to what cannot be read
    return { columns: noColumns(), additions: Number.POSITIVE_INFINITY };
  }
}

function readTexts(joined: string): string[] {
  const texts = joined.split('\n');
  if (!joined.includes('\\')) return texts;
  return texts.map((text) => (text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text));
}

/** Plain, or as JSON writes it where one byte a letter or one line would not do. */
const writeText = (text: string): string => (/[\n\\\u0100-\uffff]/.test(text) ? inAscii(text).slice(1, -1) : text);

function readAddition(line: string): Addition | undefined {
  try {
    const addition = JSON.parse(line) as Addition;
    const { version, row, texts, state, extra } = addition;
    const isOurs = version === buildVersion() && Number.isInteger(row) && row >= 0;
    const isWhole = isOurs && texts.length === 4 && state.length === 4;
    return isWhole && texts.every(isText) && state.every(isNumber) && isSound(extra) ? addition : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number';

/** Other processes may have written since the row was chosen: the file decides where an addition goes. */
function add(columns: Columns, additions: readonly Addition[]): void {
  let rows: Map<string, number> | undefined;
  for (const addition of additions) {
    const file = addition.texts[0]!;
    let { row } = addition;
    if (columns.texts[4 * row] !== file) {
      rows ??= rowsOf(columns);
      row = rows.get(file) ?? columns.texts.length / 4;
      rows.set(file, row);
    }
    put(columns, row, addition);
  }
}

export function rowsOf({ texts }: Columns): Map<string, number> {
  const rows = new Map<string, number>();
  for (let row = 0; 4 * row < texts.length; row++) rows.set(texts[4 * row]!, row);
  return rows;
}

/** Whether a row can be used: asked of each when it is, and a row that cannot is one that is not there. */
export function isSound(extra: Extra | undefined): boolean {
  if (extra === undefined) return true;
  if (typeof extra !== 'object' || extra === null) return false;
  const { header, diagnostics } = extra;
  const isHeader = header === undefined || (typeof header === 'object' && header !== null);
  return isHeader && (diagnostics === undefined || Array.isArray(diagnostics));
}

const inAscii = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

export function writeColumns(folder: string, file: string, { texts, states, extras }: Columns): void {
  const joined = texts.map(writeText).join('\n');
  const head: Head = { version: buildVersion(), files: texts.length / 4, length: joined.length, extras };
  const numbers = new Uint8Array(states.buffer, states.byteOffset, 8 * texts.length);
  writeWhole(folder, file, Buffer.concat([Buffer.from(`${inAscii(head)}\n${joined}`, 'latin1'), numbers]));
}

/** Writes a file of the cache, which readers see whole or not at all. */
export function writeWhole(folder: string, file: string, content: string | Uint8Array): void {
  // containers that share a home have the same process ids
  const temporary = `${file}.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, content, { mode: 0o600 });
    renameSync(temporary, file);
    void forgetOld(folder);
  } catch {
    // a read-only home or a full disk: the next start reads the files again
    discard(temporary);
  }
}

/** False when there is no file to add to. */
export function append(file: string, additions: readonly Addition[]): boolean {
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
      if (!/^(?:skills|scan)-[0-9a-f]+\.(?:json|cache)/.test(name)) continue;
      const path = join(folder, name);
      if (Date.now() - (await stat(path)).mtimeMs > FORGET_AFTER_MS) await rm(path, { force: true });
    }
  } catch {
    // another process tidies the same folder
  }
}

let build: string | undefined;

/** A new build may read files differently: the code's own file tells builds apart, by its name where all have one time. */
export function buildVersion(): string {
  if (build === undefined) {
    const file = fileURLToPath(import.meta.url);
    const code = statSync(file, { throwIfNoEntry: false });
    build = `${VERSION}:${basename(file)}:${code?.size ?? 0}:${code?.mtimeMs ?? 0}`;
  }
  return build;
}
