import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { buildVersion, writeWhole } from './cache-file.ts';
import { prefixOf, statFile } from './folders.ts';
import { quickHash } from './hash.ts';
import { isSoundScan, type Kept, type Odd } from './kept-scan-file.ts';
import type { Root } from './roots.ts';
import { type FoundFile, type Scan, type ScanOptions, scanRoot } from './scan.ts';
import { type KeptSeen, Seen } from './seen.ts';

/** Below this a look through the folders costs no more than reading what the last one found. */
const WORTH_KEEPING = 16;

/** The depth is as the path says. */
const USUAL = { layout: 'folder', plugin: undefined, needsKey: false, depth: undefined, viaLink: false } as const;

export interface LookOptions extends ScanOptions {
  seen: Seen;
  /** Where what was found is kept. */
  cacheFolder: string;
}

/**
 * Looks through one root, as `scanRoot` does. Where the last look, by whatever process, is known to have
 * found what a new one would, only the files' states are asked for, and no folder is listed.
 */
export async function lookThrough(root: Root, options: LookOptions): Promise<Scan> {
  if (root.status !== 'ok') return scanRoot(root, options);
  const again = await scanAgain(root, options);
  if (again !== undefined) return again;
  const seen = new Seen();
  const scan = scanRoot(root, { ...options, seen });
  const kept = seen.kept();
  if (kept !== undefined) keep(root, options, scan, kept);
  options.seen.addAll(seen);
  return scan;
}

async function scanAgain(root: Root, options: LookOptions): Promise<Scan | undefined> {
  const kept = read(root, options);
  if (kept === undefined) return undefined;
  const then = Seen.from(kept.seen);
  if (!(await then.isStillThere())) return undefined;
  const before = prefixOf(root.path);
  const found: FoundFile[] = [];
  const paths = kept.files.split('\n');
  for (let index = 0; index < paths.length; index++) {
    const below = paths[index]!;
    const file = before + below;
    const stat = statFile(file);
    if (stat === undefined) return undefined;
    const odd = kept.odd[index] ?? USUAL;
    found.push({
      file,
      size: stat.size,
      mtime: stat.mtimeMs,
      ctime: stat.ctimeMs,
      inode: stat.ino,
      layout: odd.layout,
      plugin: odd.plugin,
      needsKey: odd.needsKey,
      depth: odd.depth ?? foldersIn(below),
      viaLink: odd.viaLink,
    });
  }
  options.seen.addAll(then);
  return { found, status: 'ok', diagnostics: kept.diagnostics };
}

function keep(root: Root, options: LookOptions, { found, status, diagnostics }: Scan, seen: KeptSeen): void {
  if (status !== 'ok' || found.length < WORTH_KEEPING) return;
  const before = prefixOf(root.path);
  const isPlain = ({ file }: FoundFile): boolean => file.startsWith(before) && !file.includes('\n');
  if (!found.every(isPlain)) return;
  const files = found.map(({ file }) => file.slice(before.length));
  const odd: Record<number, Odd> = {};
  for (const [index, { layout, plugin, needsKey, depth, viaLink }] of found.entries()) {
    const isInPlace = plugin === undefined && !needsKey && !viaLink && depth === foldersIn(files[index]!);
    if (layout !== USUAL.layout || !isInPlace) odd[index] = { layout, plugin, needsKey, depth, viaLink };
  }
  const kept: Kept = { for: purposeOf(root, options), files: files.join('\n'), odd, seen, diagnostics };
  writeWhole(options.cacheFolder, fileOf(root, options), JSON.stringify(kept));
}

function read(root: Root, options: LookOptions): Kept | undefined {
  try {
    const kept = JSON.parse(readFileSync(fileOf(root, options), 'utf8')) as Kept;
    return kept.for === purposeOf(root, options) && isSoundScan(kept, root.path) ? kept : undefined;
  } catch {
    // none, or one that is damaged
    return undefined;
  }
}

const fileOf = ({ kind, path }: Root, { cacheFolder }: LookOptions): string =>
  join(cacheFolder, `scan-${quickHash([`${kind}:${path}`])}.json`);

/** Of a path below the root. */
function foldersIn(below: string): number {
  let count = 0;
  for (let at = below.indexOf(sep); at >= 0; at = below.indexOf(sep, at + 1)) count++;
  return count;
}

/** All that decides what a look finds, besides what is on disk. */
const purposeOf = ({ real, flatNeedsKey }: Root, { maxDepth, excluded }: ScanOptions): string =>
  JSON.stringify([buildVersion(), real, flatNeedsKey, maxDepth, excluded]);
