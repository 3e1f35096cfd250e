import { basename } from 'node:path';
import { hashOf } from '../hash.ts';
import { compareCodePoints, foldName, isOrdinaryName } from '../names.ts';
import type { SkillScope } from '../types.ts';
import type { SourceSkill } from './discover.ts';
import { collidingPaths, unusablePath } from './entry-names.ts';
import { type Grant, grantOf } from './grant.ts';
import { LIMITS, sizeText } from './limits.ts';
import type { LockEntry, LockedSkills } from './lock.ts';
import {
  changesOf,
  contentOf,
  type FileChanges,
  type FileMark,
  type FileMarks,
  isChanged,
  readInstalled,
} from './on-disk.ts';
import { type InstallPlace, targetOf } from './place.ts';
import { joinProblems, refused } from './refused.ts';
import { type NewFile, scriptsOf, type Warning, warningsOf } from './review.ts';
import { type Source, sourceText } from './source.ts';
import { diffOf } from './text-diff.ts';
import type { SourceTree } from './tree.ts';

/** One skill as it would be installed. */
export interface PlannedSkill {
  name: string;
  description: string;
  /** From the scope's folder: `skills/<name>`. */
  path: string;
  /** `keep`: what is there is the same, and only the revision in the lock may change. */
  action: 'install' | 'update' | 'replace' | 'keep';
  size: number;
  files: NewFile[];
  /** Files that can be run. */
  scripts: string[];
  warnings: Warning[];
  grant: Grant;
  /** What the installed one may do, when that is not the same. */
  grantBefore?: Grant | undefined;
  changes: FileChanges;
  /** Unified, of the text files that change; empty for a new skill. */
  diff: string[];
  /** Another skill of the name, whose place it takes or that goes before it. */
  meets?: { scope: SkillScope; path: string } | undefined;
  entry: LockEntry;
  /** Hash of what lies there now, null when nothing does; applying checks that it still does. */
  expected: string | null;
  /** An older place of the same skill, which goes. */
  leaves?: { path: string; expected: string } | undefined;
}

export interface PlanContext {
  place: InstallPlace;
  locked: LockedSkills;
  /** Also over skills that were not installed, or were edited since. */
  force: boolean;
  /** The skill that a name stands for today. */
  current?: ((name: string) => { scope: SkillScope; path: string } | undefined) | undefined;
}

/**
 * Says of each skill what would be written, without writing anything.
 * @throws ReasonixError `skill_refused` when one of them must not be installed, with all the reasons.
 */
export async function planSkills(
  tree: SourceTree,
  source: Source,
  skills: readonly SourceSkill[],
  context: PlanContext,
): Promise<PlannedSkill[]> {
  const problems: string[] = [];
  const targets = new Map<SourceSkill, string>();
  for (const skill of skills) {
    const found = problemsOf(skill);
    const path = found.length === 0 ? installedPath(skill) : undefined;
    if (path === undefined && found.length === 0) found.push('its name cannot be the name of a folder');
    if (path !== undefined) targets.set(skill, path);
    if (found.length > 0) problems.push(`${shown(skill)}: ${joinProblems(found)}`);
  }
  problems.push(...sharedTargets(targets), ...tooMuch(skills));
  if (problems.length > 0) {
    throw refused(joinProblems(problems), 'nothing was written; choose other skills of the source with --skill');
  }
  const contents = await tree.read(skills.flatMap(({ entries }) => entries.map(({ path }) => path)));
  const planned: PlannedSkill[] = [];
  for (const [skill, path] of targets) {
    const files = filesOf(skill, path, contents);
    const entry = await entryOf({ skill, path, files, tree, source, base: context.place.base });
    const plan = await planSkill(skill, files, entry, context);
    if (typeof plan === 'string') problems.push(plan);
    else planned.push(plan);
  }
  if (problems.length > 0) {
    throw refused(
      joinProblems(problems),
      'nothing was written; --force replaces what is there, --skill chooses other skills',
    );
  }
  return planned.sort((a, b) => compareCodePoints(a.name, b.name));
}

/** What of a skill's own files and names must not be written. */
function problemsOf({ entries, diagnostics }: SourceSkill): string[] {
  const problems: string[] = [];
  const badName = diagnostics.find(({ code }) => code === 'name-invalid' || code === 'name-unusable');
  if (badName !== undefined) problems.push(badName.message.replace(/: ".*$/s, ''));
  for (const { path, inSkill, kind, size } of entries) {
    const reason = unusablePath(inSkill);
    if (reason !== undefined) problems.push(`${JSON.stringify(path)} ${reason}`);
    else if (kind === 'link') problems.push(`${path} is a link, and links are never installed`);
    else if (kind === 'other') problems.push(`${path} is no ordinary file`);
    else if (size > LIMITS.fileBytes)
      problems.push(`${path} has ${sizeText(size)}, more than ${sizeText(LIMITS.fileBytes)}`);
  }
  for (const [one, other] of collidingPaths(entries.map(({ inSkill }) => inSkill))) {
    problems.push(`${one} and ${other} are one file on many systems`);
  }
  return problems;
}

function tooMuch(skills: readonly SourceSkill[]): string[] {
  const entries = skills.flatMap((skill) => skill.entries);
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  const problems: string[] = [];
  if (entries.length > LIMITS.files) problems.push(`${entries.length} files are more than ${LIMITS.files}`);
  if (total > LIMITS.totalBytes) problems.push(`${sizeText(total)} are more than ${sizeText(LIMITS.totalBytes)}`);
  return problems;
}

/** The skill's name where a folder may have it, else the name of its own folder or file. */
function installedPath({ name, from, file, skill }: SourceSkill): string | undefined {
  const own = basename(
    skill.layout === 'folder' ? (from === '' ? skill.folder : from) : file.replace(/(?:\.agent)?\.md$/i, ''),
  );
  const base = [name, own].find(
    // ".md" at the end tells flat files from folders
    (each) => isOrdinaryName(each) && unusablePath(each) === undefined && !/\.md$/i.test(each),
  );
  if (base === undefined) return undefined;
  if (skill.layout === 'folder') return `skills/${base}`;
  return skill.layout === 'agent' ? `agents/${base}.md` : `skills/${base}.md`;
}

function sharedTargets(targets: ReadonlyMap<SourceSkill, string>): string[] {
  const taken = new Map<string, SourceSkill>();
  const problems: string[] = [];
  for (const [skill, path] of targets) {
    const key = foldName(path.replace(/\.md$/, ''));
    const other = taken.get(key);
    if (other !== undefined)
      problems.push(`${shown(other)} and ${shown(skill)} would be one folder; choose one of them with --skill`);
    else taken.set(key, skill);
  }
  return problems;
}

function filesOf({ entries, skill }: SourceSkill, path: string, contents: ReadonlyMap<string, Uint8Array>): NewFile[] {
  const isFolder = skill.layout === 'folder';
  return entries
    .map((entry) => ({
      path: isFolder ? entry.inSkill : basename(path),
      bytes: contents.get(entry.path)!,
      executable: isFolder && entry.executable,
    }))
    .sort((a, b) => compareCodePoints(a.path, b.path));
}

interface EntryParts {
  skill: SourceSkill;
  path: string;
  files: readonly NewFile[];
  tree: SourceTree;
  source: Source;
  base: string;
}

async function entryOf({ skill, path, files, tree, source, base }: EntryParts): Promise<LockEntry> {
  const marks = new Map<string, FileMark>();
  for (const { path: file, bytes, executable } of files) {
    marks.set(file, { hash: await hashOf(bytes), executable: executable && process.platform !== 'win32' });
  }
  return {
    ...grantOf(skill.skill),
    path,
    source: sourceText(source, base),
    kind: source.kind,
    ref: source.ref ?? null,
    from: skill.from,
    revision: tree.revision,
    content: await contentOf(marks),
    executable: [...marks].filter(([, mark]) => mark.executable).map(([file]) => file),
    files: Object.fromEntries([...marks].map(([file, { hash }]) => [file, hash])),
  };
}

export const marksOf = ({ files, executable }: Pick<LockEntry, 'files' | 'executable'>): FileMarks => {
  const runnable = new Set(executable);
  return new Map(Object.entries(files).map(([path, hash]) => [path, { hash, executable: runnable.has(path) }]));
};

async function planSkill(
  source: SourceSkill,
  files: NewFile[],
  entry: LockEntry,
  { place, locked, force, current }: PlanContext,
): Promise<PlannedSkill | string> {
  const name = source.name;
  const target = await targetOf(place, entry.path);
  const now = await readInstalled(target);
  const known = [...locked.values()].find(({ path }) => path === entry.path);
  if (now.is === 'foreign') return `${target} is ${now.what}: remove it first`;
  if (now.is === 'present' && !force) {
    if (known === undefined && now.content !== entry.content)
      return `${target} is there already, and was not installed`;
    if (known !== undefined && known.content !== now.content) return `${target} was edited since it was installed`;
  }
  const before: FileMarks = now.is === 'present' ? now.files : new Map();
  const changes = changesOf(before, marksOf(entry));
  const isNew = now.is === 'missing';
  const older = await olderPlace(name, entry.path, { place, locked, force });
  if (typeof older === 'string') return older;
  const other = await beside(place, entry.path, older?.path);
  if (other !== undefined) return other;
  const was = known ?? locked.get(name);
  const met = current?.(name);
  return {
    name,
    description: source.skill.description,
    path: entry.path,
    action: isNew ? 'install' : !isChanged(changes) ? 'keep' : known === undefined ? 'replace' : 'update',
    size: files.reduce((sum, { bytes }) => sum + bytes.length, 0),
    files,
    scripts: scriptsOf(files),
    warnings: [...oddities(source, entry), ...warningsOf(files)],
    grant: grantOf(source.skill),
    ...(was !== undefined && !sameGrant(was, entry) ? { grantBefore: bareGrant(was) } : {}),
    changes,
    diff: isNew || !isChanged(changes) ? [] : await diffOf(target, files, changes, entry.path.endsWith('.md')),
    ...(met === undefined || isInside(met.path, target) ? {} : { meets: met }),
    entry,
    expected: now.is === 'present' ? now.content : null,
    ...(older === undefined ? {} : { leaves: older }),
  };
}

/** What the parser found odd. That the folder has another name does not count where it will have the right one. */
function oddities({ skill, file, name, diagnostics }: SourceSkill, entry: LockEntry): Warning[] {
  const isNamed = basename(entry.path, '.md') === name;
  const path = skill.layout === 'folder' ? basename(file) : basename(entry.path);
  return diagnostics
    .filter(({ severity, code }) => severity !== 'info' && !(code === 'name-differs' && isNamed))
    .map(({ line, severity, code, message }) => ({ path, line, severity, code, message }));
}

/** Where the lock has the skill of this name, when that is another place. */
async function olderPlace(
  name: string,
  path: string,
  { place, locked, force }: Pick<PlanContext, 'place' | 'locked' | 'force'>,
): Promise<PlannedSkill['leaves'] | string> {
  const entry = locked.get(name);
  if (entry === undefined || entry.path === path) return undefined;
  const target = await targetOf(place, entry.path);
  const now = await readInstalled(target);
  if (now.is === 'missing') return undefined;
  if (now.is === 'foreign' || (now.content !== entry.content && !force))
    return `${target} was edited since it was installed`;
  return { path: entry.path, expected: now.content };
}

/** `name` and `name.md` side by side would be two skills of one name. */
async function beside(place: InstallPlace, path: string, leaving: string | undefined): Promise<string | undefined> {
  if (path.startsWith('agents/')) return undefined;
  const other = path.endsWith('.md') ? path.slice(0, -3) : `${path}.md`;
  if (other === leaving) return undefined;
  const target = await targetOf(place, other);
  return (await readInstalled(target)).is === 'missing'
    ? undefined
    : `${target} is a skill of the same name: remove it first`;
}

const bareGrant = ({ run_as, tools, disallowed_tools, read_only, limits }: Grant): Grant => ({
  run_as,
  tools,
  disallowed_tools,
  read_only,
  limits,
});

export function sameGrant(a: Grant, b: Grant): boolean {
  const text = (grant: Grant): string => {
    const { limits, ...rest } = bareGrant(grant);
    return JSON.stringify([rest, Object.entries(limits).sort()]);
  };
  return text(a) === text(b);
}

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

const shown = ({ name, file }: SourceSkill): string => `${name} (${file})`;
