import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { KeptHeader } from './kept-header.ts';
import type { FoundFile } from './scan.ts';
import type { Diagnostic } from './types.ts';

/** Changes with the shape of what is kept, or with what the parser makes of a file. */
const VERSION = 2;
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;
/** What few files have besides a header. */
export interface Extra {
  layout?: FoundFile['layout'];
  plugin?: string | undefined;
  noKey?: true;
  diagnostics?: Diagnostic[];
}

/** A column each, since a library of thousands is read at every start: objects a file would cost more than the rest. */
export interface Columns {
  files: string[];
  /** Four numbers a file: size, mtime, ctime, inode; a size of -1 when the state told nothing. */
  states: number[];
  hashes: string[];
  headers: (KeptHeader | null)[];
  extras: Record<number, Extra>;
}

/** One file that was read after the columns had been written; a line of its own. */
export interface Addition {
  version: string;
  row: number;
  file: string;
  state: number[];
  hash: string;
  header: KeptHeader | null;
  extra?: Extra | undefined;
}

export function put(columns: Columns, row: number, { file, state, hash, header, extra }: Addition): void {
  columns.files[row] = file;
  for (let index = 0; index < 4; index++) columns.states[4 * row + index] = state[index]!;
  columns.hashes[row] = hash;
  columns.headers[row] = header;
  if (extra === undefined) delete columns.extras[row];
  else columns.extras[row] = extra;
}

export function readColumns(file: string): { columns: Columns; additions: number } {
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
    const isOurs = version === buildVersion() && typeof file === 'string' && Number.isInteger(row);
    return isOurs && areColumns(columns) && isSound(columns, 0) ? addition : undefined;
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
  const areLists =
    [files, states, hashes, headers].every(Array.isArray) && typeof extras === 'object' && extras !== null;
  return areLists && states.length === 4 * count && hashes.length === count && headers.length === count;
}

/** Whether a row can be used: asked of each when it is, and a row that cannot is one that is not there. */
export function isSound({ hashes, headers, extras }: Columns, row: number): boolean {
  const header = headers[row];
  const diagnostics = extras[row]?.diagnostics;
  return (
    typeof hashes[row] === 'string' &&
    (header === null || typeof header?.name === 'string') &&
    (diagnostics === undefined || Array.isArray(diagnostics))
  );
}

const inAscii = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

export function writeColumns(folder: string, file: string, columns: Columns): void {
  writeWhole(folder, file, `${inAscii({ version: buildVersion(), ...columns })}\n`);
}

/** Writes a file of the cache, which readers see whole or not at all. */
export function writeWhole(folder: string, file: string, text: string): void {
  // containers that share a home have the same process ids
  const temporary = `${file}.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, text, { mode: 0o600 });
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
      if (!/^(?:skills|scan)-[0-9a-f]+\.json/.test(name)) continue;
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
