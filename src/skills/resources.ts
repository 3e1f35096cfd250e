import { opendir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { compareCodePoints } from './names.ts';
import { SharedReads } from './shared-reads.ts';
import type { Skill } from './types.ts';

/** Most files that a rendered skill names. */
const MOST_NAMED = 40;
/** Folder levels below the skill's own. */
const DEEPEST = 4;
/** Entries that are looked at: a skill folder may hold a whole project. */
const MOST_ENTRIES = 2_000;

const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '__pycache__', '.git', '.hg', '.svn', '.bzr', '.jj']);
const SKILL_FILE = /^skill\.md$/i;

export interface SkillFiles {
  /** Paths relative to the skill's folder, with `/`, sorted by code point. */
  files: string[];
  /** Further files that are not named. */
  more: number;
  /** There may be files that were neither named nor counted. */
  bounded: boolean;
}

export interface SkillFilesOptions {
  /** Files that are named. Default 40. */
  most?: number | undefined;
  /** Hidden files count too, those of repositories never. Default false. */
  hidden?: boolean | undefined;
}

const listings = new SharedReads<SkillFiles>();

/**
 * The files that come with a skill of its own folder: references, scripts, assets and what else lies
 * there, without hidden ones, packages and skills inside it. Nothing of them is read. Folders that
 * cannot be read count as empty.
 */
export async function skillFiles(
  skill: Pick<Skill, 'layout' | 'folder'>,
  { most = MOST_NAMED, hidden = false }: SkillFilesOptions = {},
): Promise<SkillFiles> {
  if (skill.layout !== 'folder') return { files: [], more: 0, bounded: false };
  return listings.get(`${most} ${hidden} ${skill.folder}`, () => filesIn(skill, most, hidden));
}

async function filesIn(skill: Pick<Skill, 'folder'>, most: number, hidden: boolean): Promise<SkillFiles> {
  const base = await realpath(skill.folder).catch(() => skill.folder);
  const walk: Walk = { base, hidden, files: [], entries: 0, bounded: false, linked: new Set() };
  await collect(skill.folder, '', 0, walk);
  const files = walk.files.toSorted(compareCodePoints);
  return { files: files.slice(0, most), more: Math.max(0, files.length - most), bounded: walk.bounded };
}

interface Walk {
  /** Real path of the skill's folder. */
  base: string;
  hidden: boolean;
  files: string[];
  entries: number;
  bounded: boolean;
  /** Real paths of folders that links led to. */
  linked: Set<string>;
}

async function collect(folder: string, prefix: string, depth: number, walk: Walk): Promise<void> {
  const folders: string[] = [];
  const files: string[] = [];
  const entries = await opendir(folder).catch(() => undefined);
  if (!entries) return;
  for await (const entry of entries) {
    if (walk.entries++ >= MOST_ENTRIES) {
      walk.bounded = true;
      break;
    }
    if (SKIPPED.has(entry.name) || (!walk.hidden && entry.name.startsWith('.'))) continue;
    const kind = entry.isSymbolicLink() ? await kindOfTarget(join(folder, entry.name), walk) : entry;
    if (kind?.isFile()) files.push(entry.name);
    else if (kind?.isDirectory()) folders.push(entry.name);
  }
  const isSkill = files.some((name) => SKILL_FILE.test(name));
  if (depth > 0 && isSkill) return;
  walk.files.push(...files.filter((name) => depth > 0 || !SKILL_FILE.test(name)).map((name) => prefix + name));
  for (const name of folders.sort(compareCodePoints)) {
    if (depth === DEEPEST) walk.bounded = true;
    else await collect(join(folder, name), `${prefix}${name}/`, depth + 1, walk);
  }
}

async function kindOfTarget(
  path: string,
  walk: Walk,
): Promise<{ isFile(): boolean; isDirectory(): boolean } | undefined> {
  try {
    const target = await stat(path);
    if (!target.isDirectory()) return target;
    const real = await realpath(path);
    // Into the folder itself, or a second time to the same place: listed already.
    if (real === walk.base || real.startsWith(walk.base + sep) || walk.linked.has(real)) return undefined;
    walk.linked.add(real);
    return target;
  } catch {
    return undefined;
  }
}
