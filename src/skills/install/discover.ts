import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { compareCodePoints } from '../names.ts';
import { parseSkill } from '../parse.ts';
import type { Root } from '../roots.ts';
import { type FoundFile, scanRoot } from '../scan.ts';
import type { Diagnostic, Skill } from '../types.ts';
import { isLeftOut, unusablePath } from './entry-names.ts';
import { LIMITS, sizeText } from './limits.ts';
import { refused } from './refused.ts';
import type { SourceEntry, SourceTree } from './tree.ts';

/** A skill inside a source. */
export interface SourceSkill {
  skill: Skill;
  /** The name without that of the plugin that brings it. */
  name: string;
  /** Its markdown file, from the top of the source. */
  file: string;
  /** Its folder, `''` for the top; for flat files and agents the file itself. */
  from: string;
  /** What would be installed, from the skill's own folder. */
  entries: (SourceEntry & { inSkill: string })[];
  diagnostics: Diagnostic[];
}

export interface Discovered {
  skills: SourceSkill[];
  notes: string[];
}

/** Hidden folders in which projects keep agents for one product or another. */
const WITH_AGENTS = ['.reasonix', '.claude'];
const DEEPEST = 6;
const MANIFEST = /(?:^|\/)\.claude-plugin\/(?:plugin|marketplace)\.json$/;

/**
 * Finds the skills of a source by the same scan and parser as a library. Only its markdown files and
 * plugin manifests are written for that, into `folder`, without links and modes.
 */
export async function discoverSkills(tree: SourceTree, folder: string): Promise<Discovered> {
  const base = join(folder, 'looked-at', usableName(tree.name));
  const looked = await writeMarkdown(tree, base);
  const notes: string[] = [];
  const found = new Map<string, FoundFile>();
  for (const root of rootsIn(base, hiddenFolders(looked.keys()))) {
    const scan = scanRoot(root, { maxDepth: DEEPEST, excluded: [] });
    for (const each of scan.found) if (!found.has(each.file)) found.set(each.file, each);
    for (const { code, message, severity } of scan.diagnostics) {
      if (severity === 'error' || code === 'depth-reached' || code.startsWith('plugin')) notes.push(message);
    }
  }
  const skills: SourceSkill[] = [];
  for (const each of found.values()) {
    const path = relative(base, each.file).split(sep).join('/');
    const bytes = looked.get(path);
    const skill = bytes && (await readFound(each, bytes, path, base));
    if (skill) skills.push(skill);
  }
  assignFiles(tree, skills);
  // as in a library: nearest to the top first, sub-agents last
  skills.sort((a, b) => Number(isAgent(a)) - Number(isAgent(b)) || depthOf(a) - depthOf(b));
  const links = tree.entries.filter(
    ({ kind, path }) => kind === 'link' && /\.md$|^(?:.*\/)?skills?\//i.test(path),
  ).length;
  if (links > 0)
    notes.push(`${links === 1 ? 'a link' : `${links} links`} in the source left out: links are never installed`);
  return { skills, notes };
}

const isAgent = ({ skill }: SourceSkill): boolean => skill.layout === 'agent';

const depthOf = ({ from }: SourceSkill): number => (from === '' ? 0 : from.split('/').length);

async function writeMarkdown(tree: SourceTree, base: string): Promise<ReadonlyMap<string, Uint8Array>> {
  const wanted = tree.entries.filter(
    ({ path, kind, size }) =>
      kind === 'file' &&
      size <= LIMITS.fileBytes &&
      (/\.md$/i.test(path) || MANIFEST.test(path)) &&
      unusablePath(path) === undefined &&
      !isLeftOut(path),
  );
  const total = wanted.reduce((sum, { size }) => sum + size, 0);
  if (total > LIMITS.totalBytes || wanted.length > LIMITS.entries) {
    throw refused(
      `the source has ${sizeText(total)} of markdown files`,
      'name the folder of the skills: owner/repo/path or URL#path',
    );
  }
  const contents = await tree.read(wanted.map(({ path }) => path));
  await mkdir(base, { recursive: true });
  const taken = new Map<string, Uint8Array>();
  for (const [path, bytes] of contents) {
    const file = join(base, path);
    await mkdir(dirname(file), { recursive: true });
    // on a file system without case the second of two files is left out; a skill that has both is refused
    await writeFile(file, bytes, { flag: 'wx' }).then(
      () => taken.set(path, bytes),
      () => {},
    );
  }
  return taken;
}

/** A scan leaves hidden folders out, but collections keep skills in theirs: `.claude/skills`, `skills/.curated`. */
function hiddenFolders(paths: Iterable<string>): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    const folder = /^((?:.*\/)?\.[^/]+)\/(?:.*\/)?skill\.md$/i.exec(path)?.[1];
    if (folder !== undefined) folders.add(folder);
  }
  return [...folders].sort(compareCodePoints);
}

function rootsIn(base: string, hidden: readonly string[]): Root[] {
  const root = (path: string, kind: Root['kind']): Root => ({
    path,
    real: path,
    scope: 'project',
    kind,
    flatNeedsKey: true,
    status: 'ok',
  });
  return [
    ...['', ...WITH_AGENTS].map((name) => root(join(base, name, 'agents'), 'agents')),
    root(base, 'skills'),
    ...hidden.map((folder) => root(join(base, folder), 'skills')),
  ];
}

/** A flat file counts when it names and describes itself: repositories are full of pages with some front matter. */
async function readFound(
  found: FoundFile,
  bytes: Uint8Array,
  path: string,
  base: string,
): Promise<SourceSkill | undefined> {
  const { file, plugin } = found;
  const layout = found.layout === 'flat' && basename(dirname(file)) === 'agents' ? 'agent' : found.layout;
  const { skill, fields, diagnostics } = await parseSkill(bytes, {
    file,
    layout,
    plugin,
    scope: 'project',
    root: base,
  });
  const has = (key: string): boolean => fields.some((field) => field.key.toLowerCase() === key);
  if (skill === undefined || (layout !== 'folder' && !(has('name') && has('description')))) return undefined;
  const name = plugin === undefined ? skill.name : skill.name.slice(plugin.length + 1);
  const from = layout === 'folder' ? path.slice(0, Math.max(0, path.lastIndexOf('/'))) : path;
  return { skill, name, file: path, from, entries: [], diagnostics: diagnostics.map((each) => ({ ...each, path })) };
}

/** Each file belongs to the innermost skill around it; repositories and packages inside belong to none. */
function assignFiles(tree: SourceTree, skills: readonly SourceSkill[]): void {
  const byPlace = new Map(skills.map((skill) => [skill.from, skill]));
  for (const entry of tree.entries) {
    if (isLeftOut(entry.path)) continue;
    const single = byPlace.get(entry.path);
    if (single !== undefined) {
      single.entries.push({ ...entry, inSkill: basename(entry.path) });
      continue;
    }
    const owner = ownerOf(entry.path, byPlace);
    if (owner !== undefined) {
      const inSkill = owner.from === '' ? entry.path : entry.path.slice(owner.from.length + 1);
      owner.entries.push({ ...entry, inSkill });
    }
  }
}

function ownerOf(path: string, byPlace: ReadonlyMap<string, SourceSkill>): SourceSkill | undefined {
  for (let folder = path; folder !== ''; ) {
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')));
    const owner = byPlace.get(folder);
    if (owner !== undefined && owner.skill.layout === 'folder') return owner;
  }
  return undefined;
}

/** The top folder's own name may name a skill, so it stays what it is where it can. */
function usableName(name: string): string {
  return name !== '' && unusablePath(name) === undefined && !name.includes('/') ? name : 'skill';
}
