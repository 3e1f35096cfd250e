import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import { messageOf } from '../../core/errors.ts';
import { type ArchiveEntry, checkArchive, isBomb, isGzip, refusedArchive, type Unpacked } from './archive.ts';
import { LIMITS, sizeText } from './limits.ts';

const unzip = promisify(gunzip);

/** Room for headers and padding of all files. */
const LARGEST = LIMITS.totalBytes + LIMITS.files * 3 * 512;
const FILES = new Set(['File', 'OldFile', 'ContiguousFile']);
const FOLDERS = new Set(['Directory', 'GNUDumpDir']);
const LINKS = new Set(['Link', 'SymbolicLink']);

/** Reads a tar file, packed by gzip or not. */
export async function readTar(bytes: Buffer, name: string): Promise<Unpacked> {
  const plain = isGzip(bytes) ? await unpack(bytes, name) : bytes;
  if (isBomb(plain.length, bytes.length)) {
    throw refusedArchive(name, `${sizeText(bytes.length)} would become ${sizeText(plain.length)}`);
  }
  const { entries, pieces } = await parse(plain, name);
  checkArchive(entries, bytes.length, name);
  const contents = new Map<string, Uint8Array>();
  for (const { path, size, kind, isFolder } of entries) {
    if (kind !== 'file' || isFolder) continue;
    const content = Buffer.concat(pieces.get(path) ?? []);
    if (content.length !== size) throw refusedArchive(name, `${JSON.stringify(path)} is not as large as it says`);
    contents.set(path, content);
  }
  return { entries, contents };
}

async function unpack(bytes: Buffer, name: string): Promise<Buffer> {
  try {
    return await unzip(bytes, { maxOutputLength: LARGEST });
  } catch (error) {
    const tooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    const why = tooLarge ? `it holds more than ${sizeText(LIMITS.totalBytes)}` : `it is damaged (${messageOf(error)})`;
    throw refusedArchive(name, why, error);
  }
}

/** Slices of the tar itself, which is in memory anyway: nothing is copied before the checks. */
function parse(plain: Buffer, name: string): Promise<{ entries: ArchiveEntry[]; pieces: Map<string, Buffer[]> }> {
  return new Promise((resolve, reject) => {
    const entries: ArchiveEntry[] = [];
    const pieces = new Map<string, Buffer[]>();
    const fail = (why: unknown): void => reject(refusedArchive(name, `it is damaged (${messageOf(why)})`));
    const add = (entry: ReadEntry, known: boolean): void => {
      const declared = declaredEntry(entry, known);
      if (declared.path !== '' && declared.path !== '.') entries.push(declared);
      const content: Buffer[] = [];
      if (declared.kind === 'file' && !declared.isFolder && !pieces.has(declared.path))
        pieces.set(declared.path, content);
      entry.on('data', (piece) => content.push(piece));
    };
    const parser = new Parser({
      brotli: false,
      onReadEntry: (entry) => add(entry, true),
      onwarn: (code, message) => {
        if (code !== 'TAR_ENTRY_INFO') fail(message);
      },
    });
    parser.on('ignoredEntry', (entry: ReadEntry) => add(entry, false));
    parser.on('error', fail);
    parser.on('end', () => resolve({ entries, pieces }));
    parser.end(plain);
  });
}

function declaredEntry(entry: ReadEntry, known: boolean): ArchiveEntry {
  const { type, size = 0, mode = 0, linkpath } = entry;
  const isFolder = FOLDERS.has(type);
  const isFile = FILES.has(type);
  return {
    path: entry.path.replace(/^(?:\.\/)+/, '').replace(/\/$/, ''),
    isFolder,
    kind: LINKS.has(type) ? 'link' : known && (isFile || isFolder) ? 'file' : 'other',
    size: isFile ? size : 0,
    executable: isFile && (mode & 0o111) !== 0,
    ...(linkpath === undefined ? {} : { target: type === 'Link' ? `/${linkpath}` : linkpath }),
  };
}
