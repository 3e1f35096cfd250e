import { type Entry, fromBufferPromise } from 'yauzl';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { type ArchiveEntry, checkArchive, refusedArchive, type Unpacked } from './archive.ts';
import { LIMITS } from './limits.ts';

const TYPE = 0o170000;
const LINK = 0o120000;
const FOLDER = 0o040000;
const FILE = 0o100000;
const STORED = 0;
const DEFLATED = 8;
/** A link's content is a path. */
const LONGEST_TARGET = 4_096;

/** Reads a zip file. The sizes that it declares are held to while it is unpacked. */
export async function readZip(bytes: Buffer, name: string): Promise<Unpacked> {
  try {
    // names stay bytes: the library would turn backslashes into slashes before they are judged
    const zip = await fromBufferPromise(bytes, {
      lazyEntries: true,
      decodeStrings: false,
      validateEntrySizes: true,
      autoClose: false,
    });
    if (zip.entryCount > 2 * LIMITS.files) {
      throw refusedArchive(name, `it has ${zip.entryCount} entries, and ${LIMITS.files} files are the most`);
    }
    const found: { entry: Entry; declared: ArchiveEntry }[] = [];
    for await (const entry of zip.eachEntry()) {
      const declared = declaredEntry(entry, name);
      if (declared.path !== '') found.push({ entry, declared });
    }
    const content = async (entry: Entry): Promise<Buffer> =>
      collect(await zip.openReadStreamPromise(entry), entry, name);
    for (const { entry, declared } of found) {
      if (declared.kind !== 'link') continue;
      if (declared.size > LONGEST_TARGET)
        throw refusedArchive(name, `the link ${JSON.stringify(declared.path)} is no link`);
      declared.target = (await content(entry)).toString('utf8');
    }
    checkArchive(
      found.map(({ declared }) => declared),
      bytes.length,
      name,
    );
    const contents = new Map<string, Uint8Array>();
    for (const { entry, declared } of found) {
      if (declared.kind === 'file' && !declared.isFolder) contents.set(declared.path, await content(entry));
    }
    return { entries: found.map(({ declared }) => declared), contents };
  } catch (error) {
    if (ReasonixError.isInstance(error)) throw error;
    throw refusedArchive(name, `it is damaged or not what it says (${messageOf(error)})`, error);
  }
}

function declaredEntry(entry: Entry, name: string): ArchiveEntry {
  const written = decodeName(entry.fileNameRaw, name);
  const mode = entry.externalFileAttributes >>> 16;
  const type = mode & TYPE;
  const isFolder = written.endsWith('/') || type === FOLDER;
  const path = written.replace(/^(?:\.\/)+/, '').replace(/\/$/, '');
  if (entry.isEncrypted()) throw refusedArchive(name, `${JSON.stringify(path)} is encrypted`);
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    throw refusedArchive(name, `${JSON.stringify(path)} is packed in a way that is not supported`);
  }
  return {
    path: path === '.' ? '' : path,
    isFolder,
    kind: type === LINK ? 'link' : isFolder || type === 0 || type === FILE ? 'file' : 'other',
    size: entry.uncompressedSize,
    executable: type === FILE && (mode & 0o111) !== 0,
  };
}

/** UTF-8, else what Windows in China writes. */
function decodeName(raw: Buffer, name: string): string {
  for (const encoding of ['utf-8', 'gb18030']) {
    try {
      return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(raw);
    } catch {
      // the next one
    }
  }
  throw refusedArchive(name, 'it has a name in an unknown encoding');
}

async function collect(stream: AsyncIterable<unknown>, entry: Entry, name: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    const bytes = piece as Buffer;
    size += bytes.length;
    if (size > entry.uncompressedSize || size > LIMITS.fileBytes)
      throw refusedArchive(name, 'an entry is larger than it says');
    pieces.push(bytes);
  }
  if (size !== entry.uncompressedSize) throw refusedArchive(name, 'an entry is smaller than it says');
  return Buffer.concat(pieces);
}
