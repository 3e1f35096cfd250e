import { basename } from 'node:path';
import { collidingPaths, leadsOut } from './entry-names.ts';
import { hashOfArchive } from './integrity.ts';
import { LIMITS, sizeText } from './limits.ts';
import { joinProblems, refused } from './refused.ts';
import type { SourceEntry, SourceTree } from './tree.ts';

/** An entry as an archive declares it. */
export interface ArchiveEntry extends SourceEntry {
  /** Folders count for the checks of names only. */
  isFolder: boolean;
  /** Where a link leads. */
  target?: string | undefined;
}

export interface Unpacked {
  entries: ArchiveEntry[];
  /** Contents of the files, all of them checked against what was declared. */
  contents: ReadonlyMap<string, Uint8Array>;
}

/**
 * Reads a zip, tar or tar.gz. Every entry is checked before the content of any is taken.
 * @throws ReasonixError `skill_refused` for anything else, and for archives with hostile entries or sizes.
 */
export async function archiveTree(bytes: Buffer, name: string): Promise<SourceTree> {
  const { entries, contents } = isZip(bytes)
    ? await (await import('./zip.ts')).readZip(bytes, name)
    : isTar(bytes)
      ? await (await import('./tar.ts')).readTar(bytes, name)
      : notAnArchive(bytes, name);
  return {
    name: basename(name).replace(/\.(?:zip|tar|tgz|tar\.gz)$/i, ''),
    revision: await hashOfArchive(bytes),
    entries: entries.filter(({ isFolder }) => !isFolder),
    read: async (paths) => new Map(paths.map((path) => [path, contents.get(path) ?? missing(path, name)])),
  };
}

/** @throws ReasonixError `skill_refused` naming what is wrong with the entries, before any is read. */
export function checkArchive(entries: readonly ArchiveEntry[], packedBytes: number, name: string): void {
  const problems: string[] = [];
  const files = entries.filter(({ kind, isFolder }) => kind === 'file' && !isFolder);
  for (const { path, kind, target } of entries) {
    const reason = leadsOut(path);
    if (reason !== undefined) problems.push(`${shown(path)} ${reason}`);
    else if (kind === 'other') problems.push(`${shown(path)} is no file, folder or link`);
    else if (kind === 'link' && linkLeadsOut(path, target ?? '')) {
      problems.push(`${shown(path)} is a link that leads out, to ${shown(target ?? '')}`);
    }
  }
  const paths = entries.filter(({ isFolder }) => !isFolder).map(({ path }) => path);
  for (const [one, other] of collidingPaths(paths)) {
    problems.push(
      one === other ? `${shown(one)} is there twice` : `${shown(one)} and ${shown(other)} are one on many systems`,
    );
  }
  const large = files.filter(({ size }) => size > LIMITS.fileBytes);
  for (const { path, size } of large)
    problems.push(`${shown(path)} has ${sizeText(size)}, more than ${sizeText(LIMITS.fileBytes)}`);
  if (entries.length > 2 * LIMITS.files || files.length > LIMITS.files) {
    problems.push(`it has ${entries.length} entries, and ${LIMITS.files} files are the most`);
  }
  const total = files.reduce((sum, { size }) => sum + size, 0);
  if (total > LIMITS.totalBytes) problems.push(`it holds ${sizeText(total)}, more than ${sizeText(LIMITS.totalBytes)}`);
  if (isBomb(total, packedBytes)) problems.push(`${sizeText(packedBytes)} would become ${sizeText(total)}`);
  if (problems.length > 0) throw refusedArchive(name, joinProblems(problems));
}

export const isBomb = (unpacked: number, packed: number): boolean =>
  unpacked > 1_000_000 && unpacked > packed * LIMITS.ratio;

export const refusedArchive = (name: string, why: string, cause?: unknown): Error =>
  refused(`the archive ${shown(name)} is refused: ${why}`, 'nothing was written; do not trust this archive', cause);

/** Also for links inside: from where they stand. */
function linkLeadsOut(path: string, target: string): boolean {
  if (/^(?:[/\\]|[A-Za-z]:)/.test(target) || target.includes('\0') || target === '') return true;
  const parts = path.split('/').slice(0, -1);
  for (const part of target.split(/[/\\]/)) {
    if (part === '..') {
      if (parts.pop() === undefined) return true;
    } else if (part !== '' && part !== '.') parts.push(part);
  }
  return false;
}

const isZip = (bytes: Buffer): boolean =>
  bytes.length > 21 && /^PK(?:\x03\x04|\x05\x06)/.test(bytes.toString('latin1', 0, 4));

export const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

const isTar = (bytes: Buffer): boolean => isGzip(bytes) || bytes.toString('latin1', 257, 262) === 'ustar';

function notAnArchive(bytes: Buffer, name: string): never {
  const looks = bytes.toString('latin1', 0, 200).trimStart();
  const page = /^<(?:!doctype|html)/i.test(looks) ? ', but a web page' : '';
  throw refused(`${shown(name)} is no zip, tar or tar.gz${page}`, 'give the address of the file itself');
}

function missing(path: string, name: string): never {
  throw refusedArchive(name, `${shown(path)} cannot be read`);
}

const shown = (text: string): string => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
