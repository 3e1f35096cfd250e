import { basename } from 'node:path';
import { compareCodePoints } from '../names.ts';
import type { SkillScope } from '../types.ts';
import type { SourceSkill } from './discover.ts';
import { bareGrant, type Grant, grantOf, sameGrant } from './grant.ts';
import { installable } from './installable.ts';
import type { LockEntry, LockedSkills } from './lock.ts';
import { entryOf, marksOf } from './lock-entry.ts';
import { changesOf, type FileChanges, type FileMarks, isChanged, readInstalled } from './on-disk.ts';
import { type InstallPlace, targetOf } from './place.ts';
import { joinProblems, refused } from './refused.ts';
import { type NewFile, scriptsOf, type Warning, warningsOf } from './review.ts';
import type { Source } from './source.ts';
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
  const { paths, problems } = installable(skills);
  if (problems.length > 0) {
    throw refused(joinProblems(problems), 'nothing was written; choose other skills of the source with --skill');
  }
  const contents = await tree.read(skills.flatMap(({ entries }) => entries.map(({ path }) => path)));
  const planned: PlannedSkill[] = [];
  for (const [skill, path] of paths) {
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

const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
