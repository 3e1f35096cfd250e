import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReasonixError } from '../../core/errors.ts';
import { compareCodePoints, foldName, nearestNames } from '../names.ts';
import { type Discovered, discoverSkills, type SourceSkill } from './discover.ts';
import type { LockEntry, LockedSkills } from './lock.ts';
import { loadLock } from './lock-file.ts';
import { type Download, openSource } from './open-source.ts';
import type { InstallPlace } from './place.ts';
import { type PlanContext, type PlannedSkill, planSkills } from './plan.ts';
import { parseSource, type Source, sourceText } from './source.ts';
import { applyChanges, type Change, settle } from './transaction.ts';
import type { SourceTree } from './tree.ts';

export interface InstallContext {
  place: InstallPlace;
  signal: AbortSignal;
  /** For archives on the network; without it none is fetched. */
  download?: Download | undefined;
  /** The skill that a name stands for today. */
  current?: PlanContext['current'];
  /** Also over skills that were not installed, or were edited since. Default false. */
  force?: boolean | undefined;
  /** Told what is being done, one short line each. */
  progress?: ((text: string) => void) | undefined;
}

export interface InstallRequest {
  /** As `parseSource` reads it. */
  source: string;
  /** Relative sources start here. */
  cwd: string;
  ref?: string | undefined;
  /** Only these; all when there are none. */
  skills?: readonly string[] | undefined;
}

/** What an installation would do. Nothing is written before it is applied. */
export interface InstallPlan {
  place: InstallPlace;
  skills: PlannedSkill[];
  /** Other skills of the source. */
  others: string[];
  /** What was left out of the source, and why. */
  notes: string[];
  /** Of an update: installed skills that stay as they are, and why. */
  lost: { name: string; reason: string }[];
}

/**
 * Fetches a source and says what would be installed from it.
 * @throws ReasonixError `usage` for no source, `skill_not_found` without such skills, `skill_refused` when
 * something must not be installed.
 */
export async function planInstall(request: InstallRequest, context: InstallContext): Promise<InstallPlan> {
  const source = parseSource(request.source, { base: request.cwd, ref: request.ref });
  await settle(context.place, context.signal);
  const locked = await loadLock(context.place.folder);
  return withSource(source, context, async (tree, { skills, notes }) => {
    if (skills.length === 0) throw nothingFound(request.source, notes);
    const chosen = choose(skills, request.skills ?? [], request.source);
    const planned = await planSkills(tree, source, chosen.skills, planContext(context, locked));
    const names = new Set(chosen.skills.map(({ name }) => foldName(name)));
    const others = skills.map(({ name }) => name).filter((name) => !names.has(foldName(name)));
    return {
      place: context.place,
      skills: planned,
      others: [...new Set(others)].sort(compareCodePoints),
      notes: [...notes, ...chosen.notes],
      lost: [],
    };
  });
}

/**
 * Fetches the sources of installed skills again, of one or of all, and says what would change.
 * @throws ReasonixError `skill_not_found` when `name` is not installed, `skill_refused` as for an installation.
 */
export async function planUpdate(name: string | undefined, context: InstallContext): Promise<InstallPlan> {
  await settle(context.place, context.signal);
  const locked = await loadLock(context.place.folder);
  const wanted = name === undefined ? [...locked] : [...locked].filter(([each]) => each === name);
  if (name !== undefined && wanted.length === 0) throw notInstalled(name, locked);
  const plan: InstallPlan = { place: context.place, skills: [], others: [], notes: [], lost: [] };
  /** One that fails does not keep the others from being updated, unless it is the one that was asked for. */
  const attempt = async (names: readonly string[], work: () => Promise<PlannedSkill[]>): Promise<void> => {
    try {
      plan.skills.push(...(await work()));
    } catch (error) {
      context.signal.throwIfAborted();
      if (name !== undefined || !ReasonixError.isInstance(error)) throw error;
      plan.lost.push(...names.map((each) => ({ name: each, reason: error.message })));
    }
  };
  for (const group of bySource(wanted)) {
    const [, { source: written, ref }] = group[0]!;
    const names = group.map(([each]) => each);
    await attempt(names, async () => {
      const source = parseSource(written, { base: context.place.base, ref: ref ?? undefined });
      return withSource(source, context, async (tree, { skills, notes }) => {
        plan.notes.push(...notes);
        for (const [each, entry] of group) {
          const skill = sameSkill(skills, each, entry);
          if (skill === undefined) plan.lost.push({ name: each, reason: 'the source no longer has it' });
          else await attempt([each], () => planSkills(tree, source, [skill], planContext(context, locked)));
        }
        return [];
      });
    });
  }
  plan.skills.sort((a, b) => compareCodePoints(a.name, b.name));
  return plan;
}

/** Whether applying a plan would change anything, a revision in the lock included. */
export async function isPending(plan: InstallPlan): Promise<boolean> {
  if (plan.skills.some(({ action }) => action !== 'keep')) return true;
  const locked = await loadLock(plan.place.folder);
  return plan.skills.some(({ name, entry }) => {
    const known = locked.get(name);
    return (
      known === undefined ||
      known.revision !== entry.revision ||
      known.source !== entry.source ||
      known.ref !== entry.ref ||
      known.path !== entry.path ||
      known.from !== entry.from
    );
  });
}

/** Writes what was planned, all or nothing. @throws ReasonixError `skill_refused` when the place changed since. */
export async function applyInstall(plan: InstallPlan, signal: AbortSignal): Promise<void> {
  const changes = plan.skills.flatMap(({ path, action, expected, files, entry, leaves }): Change[] => [
    ...(leaves === undefined ? [] : [leaves]),
    ...(action === 'keep' ? [] : [{ path, expected, next: { files, content: entry.content } }]),
  ]);
  const next = (locked: LockedSkills): LockedSkills => {
    const paths = new Set(plan.skills.map(({ path }) => path));
    const kept = [...locked].filter(([, { path }]) => !paths.has(path));
    return new Map([...kept, ...plan.skills.map(({ name, entry }) => [name, entry] as const)]);
  };
  await applyChanges(plan.place, changes, next, signal);
}

/** Fetched and looked through in a folder of its own, which is gone afterwards. */
async function withSource<T>(
  source: Source,
  context: InstallContext,
  use: (tree: SourceTree, found: Discovered) => Promise<T>,
): Promise<T> {
  const { signal, download, progress } = context;
  const folder = await mkdtemp(join(tmpdir(), 'reasonix-install-'));
  try {
    signal.throwIfAborted();
    progress?.(`${source.kind === 'folder' ? 'reading' : 'fetching'} ${sourceText(source, context.place.base)}`);
    const tree = await openSource(source, { folder, signal, download });
    signal.throwIfAborted();
    const result = await use(tree, await discoverSkills(tree, folder));
    signal.throwIfAborted();
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

const planContext = ({ place, force, current }: InstallContext, locked: LockedSkills): PlanContext => ({
  place,
  locked,
  force: force ?? false,
  current,
});

interface Choice {
  skills: SourceSkill[];
  notes: string[];
}

/** By name the first of a name, as in a library; another one by its place in the source. */
function choose(skills: readonly SourceSkill[], wanted: readonly string[], source: string): Choice {
  const first = firstOfEachName(skills);
  if (wanted.length === 0) return first;
  const chosen = wanted.map((each) => {
    const found =
      skills.find(({ from }) => from === each) ??
      first.skills.find(({ name }) => name === each) ??
      skills.find(({ skill }) => skill.name === each) ??
      first.skills.find(({ name }) => foldName(name) === foldName(each));
    if (found !== undefined) return found;
    const near = nearestNames(
      each,
      first.skills.map(({ name }) => name),
    );
    throw new ReasonixError('skill_not_found', `${source} has no skill ${JSON.stringify(each)}`, {
      hint: `it has ${first.skills.length}; the nearest: ${near.join(', ')}`,
    });
  });
  return { skills: [...new Set(chosen)], notes: [] };
}

function firstOfEachName(skills: readonly SourceSkill[]): Choice {
  const taken = new Map<string, SourceSkill>();
  const notes: string[] = [];
  for (const skill of skills) {
    const key = foldName(skill.name);
    const other = taken.get(key);
    if (other === undefined) taken.set(key, skill);
    else
      notes.push(
        `${skill.from} left out: ${other.from || 'the top'} has the same name; --skill ${skill.from} chooses it instead`,
      );
  }
  return { skills: [...taken.values()], notes };
}

/** The same place in the source, else the same name. */
function sameSkill(skills: readonly SourceSkill[], name: string, entry: LockEntry): SourceSkill | undefined {
  return (
    skills.find((skill) => skill.from === entry.from && skill.name === name) ??
    skills.find((skill) => skill.name === name)
  );
}

function bySource(entries: readonly [string, LockEntry][]): [string, LockEntry][][] {
  const groups = new Map<string, [string, LockEntry][]>();
  for (const each of entries) {
    const key = JSON.stringify([each[1].source, each[1].ref]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()];
}

function nothingFound(source: string, notes: readonly string[]): ReasonixError {
  const more = notes.length > 0 ? ` (${notes.join('; ')})` : '';
  return new ReasonixError('skill_not_found', `${source} has no skills${more}`, {
    hint: 'a skill is a folder with a SKILL.md; name the folder they lie in: owner/repo/path or URL#path',
  });
}

/** The error for a name that the lock does not hold, with those most like it. */
export function notInstalled(name: string, locked: LockedSkills): ReasonixError {
  const near = nearestNames(name, locked.keys());
  return new ReasonixError('skill_not_found', `the skill ${JSON.stringify(name)} was not installed`, {
    hint: near.length > 0 ? `installed are, nearest first: ${near.join(', ')}` : 'see: reasonix skill list',
  });
}
