import { type Dirent, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { compareCodePoints } from '../names.ts';
import type { Seen } from '../seen.ts';
import type { Skill } from '../types.ts';
import { isInside } from './manifest.ts';

/** Largest file of a skill that goes with it, in bytes; its markdown file always does. */
const LARGEST_FILE = 1024 * 1024;
/** Most bytes of all files of a skill. */
const LARGEST_SKILL = 8 * 1024 * 1024;
const MOST_FILES = 2_000;
/** Folder levels below the skill's own. */
const DEEPEST = 8;

const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '__pycache__', 'venv']);
const SKILL_FILE = /^skill\.md$/i;

/** A file that is packed. */
export interface LocalFile {
  /** Relative to the skill's folder, with `/`. */
  path: string;
  absolute: string;
  executable: boolean;
}

export interface SkillFolder {
  /** The markdown file first. */
  files: LocalFile[];
  /** What does not go with the skill, and why; hidden files, which may hold anything, are not named. */
  leftOut: string[];
}

/**
 * The files that go with a skill to other machines: its markdown file and, for one with a folder of its
 * own, everything in there but hidden files, packages, skills inside it, what links lead to outside of
 * it, and what is too large.
 */
export function readSkillFolder(skill: Pick<Skill, 'file' | 'folder' | 'layout'>, seen: Seen): SkillFolder {
  const file = new Walk(skill, seen);
  return file.run();
}

class Walk {
  readonly #skill: Pick<Skill, 'file' | 'folder' | 'layout'>;
  readonly #seen: Seen;
  readonly #files: LocalFile[] = [];
  readonly #leftOut: string[] = [];
  #size = 0;
  #real = '';

  constructor(skill: Pick<Skill, 'file' | 'folder' | 'layout'>, seen: Seen) {
    this.#skill = skill;
    this.#seen = seen;
  }

  run(): SkillFolder {
    const { file, folder, layout } = this.#skill;
    const own = statSync(file, { throwIfNoEntry: false });
    if (own !== undefined) this.#note(file, own);
    this.#files.push({ path: basename(file), absolute: file, executable: false });
    this.#size = own?.size ?? 0;
    if (layout === 'folder') {
      this.#real = realPathOf(folder) ?? folder;
      this.#enter(folder, '', 0);
    }
    return { files: this.#files, leftOut: this.#leftOut };
  }

  #enter(folder: string, prefix: string, depth: number): void {
    const entries = this.#list(folder, prefix);
    if (depth > 0 && entries.some(({ name }) => SKILL_FILE.test(name))) return;
    const folders: string[] = [];
    for (const entry of entries) {
      const { name } = entry;
      const path = prefix + name;
      if (name.startsWith('.') || (depth === 0 && SKILL_FILE.test(name))) continue;
      if (entry.isSymbolicLink()) this.#takeLink(join(folder, name), path);
      else if (entry.isFile()) this.#take(join(folder, name), path);
      else if (entry.isDirectory()) folders.push(name);
    }
    for (const name of folders) {
      const path = prefix + name;
      if (SKIPPED.has(name)) this.#leftOut.push(`${path} (packages are installed, not packed)`);
      else if (depth === DEEPEST) this.#leftOut.push(`${path} (too deep)`);
      else this.#enter(join(folder, name), `${path}/`, depth + 1);
    }
  }

  #list(folder: string, prefix: string): Dirent[] {
    try {
      return this.#seen.list(folder).sort((a, b) => compareCodePoints(a.name, b.name));
    } catch {
      this.#leftOut.push(`${prefix} (cannot be read)`);
      return [];
    }
  }

  #takeLink(absolute: string, path: string): void {
    this.#seen.place(absolute);
    const real = realPathOf(absolute);
    if (real === undefined) this.#leftOut.push(`${path} (a link that leads to nothing)`);
    else if (!real.startsWith(this.#real + sep)) this.#leftOut.push(`${path} (a link that leads out of the skill)`);
    else if (statSync(real).isFile()) this.#take(absolute, path);
    else this.#leftOut.push(`${path} (a link to a folder)`);
  }

  #take(absolute: string, path: string): void {
    const stat = statSync(absolute, { throwIfNoEntry: false });
    if (stat === undefined) return;
    const why = this.#whyNot(path, stat);
    this.#note(absolute, stat);
    if (why !== undefined) {
      this.#leftOut.push(`${path} (${why})`);
      return;
    }
    this.#size += stat.size;
    this.#files.push({ path, absolute, executable: (stat.mode & 0o111) !== 0 });
  }

  #whyNot(path: string, { size }: Stats): string | undefined {
    if (!isInside(path)) return 'its name is not one on every system';
    if (size > LARGEST_FILE) return `${size} bytes, more than ${LARGEST_FILE}`;
    if (this.#size + size > LARGEST_SKILL) return `the skill has more than ${LARGEST_SKILL} bytes`;
    return this.#files.length >= MOST_FILES ? `the skill has more than ${MOST_FILES} files` : undefined;
  }

  #note(path: string, { size, mtimeMs, ctimeMs, ino }: Stats): void {
    this.#seen.file(path, { size, mtime: mtimeMs, ctime: ctimeMs, inode: ino }, Date.now());
  }
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
