import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { prefixOf } from './folders.ts';
import type { Skill, SkillLibrary } from './types.ts';

const known = new WeakMap<readonly Skill[], Promise<string[]>>();

/**
 * Folders that hold a library's skills, with what belongs to them: the roots, and the folders of skills
 * that links in a root lead to. Looked up once for each state of the library.
 */
export function readableFolders(library: SkillLibrary): Promise<string[]> {
  const { skills } = library;
  const folders = known.get(skills) ?? findFolders(library);
  known.set(skills, folders);
  return folders;
}

async function findFolders({ skills, roots }: SkillLibrary): Promise<string[]> {
  const open = roots.filter(({ status }) => status === 'ok').map(({ path }) => path);
  const links = new Map<string, Promise<ReadonlySet<string>>>();
  const linked = new Set<string>();
  for (const { folder, root } of skills) {
    if (linked.has(folder) || folder === root) continue;
    if (!isBelow(folder, root) || (await isThroughLink(folder, root, links))) linked.add(folder);
  }
  return [...open, ...linked];
}

/** Asks the folders above, not each skill: a library has thousands of skills in a few of them. */
async function isThroughLink(
  folder: string,
  root: string,
  links: Map<string, Promise<ReadonlySet<string>>>,
): Promise<boolean> {
  for (let path = folder; isBelow(path, root); path = dirname(path)) {
    const parent = dirname(path);
    const inParent = links.get(parent) ?? linksIn(parent);
    links.set(parent, inParent);
    if ((await inParent).has(basename(path))) return true;
  }
  return false;
}

async function linksIn(folder: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return new Set(entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name));
}

const isBelow = (path: string, root: string): boolean => path.length > root.length && path.startsWith(prefixOf(root));
