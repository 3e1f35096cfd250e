import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, ReasonixError } from '../core/errors.ts';
import { HeaderCache, type Known } from './cache.ts';
import { contentHashOf, hashOf, quickHash } from './hash.ts';
import { holdToLock } from './install/locked.ts';
import { keepHeader, toSkill } from './kept-header.ts';
import { lookThrough } from './kept-scan.ts';
import { Lookup } from './lookup.ts';
import { compareCodePoints } from './names.ts';
import { Patience } from './patience.ts';
import { readSource } from './read-source.ts';
import { type CollapsedFile, resolveNames, SameFiles } from './resolve.ts';
import { type ResolvedRoots, type Root, resolveRoots } from './roots.ts';
import type { FoundFile } from './scan.ts';
import { Seen } from './seen.ts';
import { SharedReads } from './shared-reads.ts';
import type {
  Diagnostic,
  LibraryOptions,
  RootReport,
  Skill,
  SkillBody,
  SkillChanges,
  SkillLibrary,
  SkillLookup,
} from './types.ts';

const LARGEST_FILE = 8 * 1024 * 1024;

export interface OpenedLibrary extends SkillLibrary {
  /** Files that are other paths or exact copies of skills in the library. */
  readonly collapsed: readonly CollapsedFile[];
}

/** Finds and indexes the skills of all roots. Reads only what changed since the last time, in whatever process. */
export async function openLibrary(options: LibraryOptions): Promise<OpenedLibrary> {
  const library = new Library(options);
  await library.open();
  return library;
}

interface Index {
  skills: readonly Skill[];
  disabled: readonly Skill[];
  roots: readonly RootReport[];
  diagnostics: readonly Diagnostic[];
  collapsed: readonly CollapsedFile[];
}

class Library implements OpenedLibrary {
  readonly #options: LibraryOptions;
  readonly #caches = new Map<string, HeaderCache>();
  readonly #loads = new SharedReads<SkillBody>();
  #index: Index = { skills: [], disabled: [], roots: [], diagnostics: [], collapsed: [] };
  #lookup: Lookup | undefined;
  #fingerprint: string | undefined;
  /** Everything that the index was made of. */
  #seen = new Seen();
  #rootsThen = '';
  #refreshing: Promise<unknown> = Promise.resolve();
  #waiting: Promise<SkillChanges> | undefined;

  constructor(options: LibraryOptions) {
    this.#options = options;
  }

  get #cacheFolder(): string {
    return join(this.#options.reasonixHome, 'cache');
  }

  get skills(): readonly Skill[] {
    return this.#index.skills;
  }

  get disabled(): readonly Skill[] {
    return this.#index.disabled;
  }

  get roots(): readonly RootReport[] {
    return this.#index.roots;
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#index.diagnostics;
  }

  get collapsed(): readonly CollapsedFile[] {
    return this.#index.collapsed;
  }

  get fingerprint(): string {
    this.#fingerprint ??= quickHash(this.#index.skills.flatMap((skill) => [skill.name, skill.stamp]));
    return this.#fingerprint;
  }

  find(name: string): SkillLookup {
    this.#lookup ??= new Lookup(this.#index.skills, this.#index.disabled);
    return this.#lookup.find(name);
  }

  load(skill: Skill): Promise<SkillBody> {
    return this.#loads.get(`${skill.name}\n${skill.file}`, () => this.#load(skill));
  }

  async #load(skill: Skill): Promise<SkillBody> {
    const { parseSkill } = await loadParser();
    const { body } = await parseSkill(await readSkillFile(skill), { ...skill, plugin: undefined });
    return { text: body, hash: await hashOf(body) };
  }

  async open(): Promise<void> {
    this.#index = await this.#build(resolveRoots(this.#options));
  }

  /**
   * One at a time, so that a look that starts later never ends with an older answer. Those that wait
   * share one, which tells its changes to the first of them.
   */
  refresh(): Promise<SkillChanges> {
    if (this.#waiting !== undefined) return this.#waiting.then(noChanges);
    this.#waiting = this.#refreshing.then(() => {
      this.#waiting = undefined;
      return this.#refresh();
    });
    this.#refreshing = this.#waiting.catch(() => undefined);
    return this.#waiting;
  }

  async #refresh(): Promise<SkillChanges> {
    const resolved = resolveRoots(this.#options);
    if (JSON.stringify(resolved) === this.#rootsThen && (await this.#seen.isStillThere())) {
      return noChanges();
    }
    const before = this.#index.skills;
    this.#index = await this.#build(resolved);
    this.#lookup = undefined;
    this.#fingerprint = undefined;
    return changesBetween(before, this.#index.skills);
  }

  async #build(places: ResolvedRoots): Promise<Index> {
    const { roots, excluded } = places;
    const diagnostics = [...places.diagnostics];
    const seen = new Seen();
    const maxDepth = Math.min(6, Math.max(1, Math.trunc(this.#options.maxDepth ?? 3)));
    const sameFiles = new SameFiles();
    const reports: RootReport[] = [];
    const definitions: Skill[] = [];
    for (const root of roots) {
      const startedAt = Date.now();
      const scan = await lookThrough(root, { maxDepth, excluded, seen, cacheFolder: this.#cacheFolder });
      for (const found of scan.found) seen.file(found.file, found, startedAt);
      const files = sameFiles.leaveOut(scan.found);
      const read = await this.#readRoot(root, files, seen);
      const held = holdToLock(root, this.#options.reasonixHome, read.skills, seen);
      definitions.push(...held.skills);
      diagnostics.push(...scan.diagnostics, ...read.diagnostics, ...held.diagnostics);
      reports.push({ path: root.path, scope: root.scope, status: scan.status, found: read.skills.length });
    }
    const resolved = resolveNames(definitions, this.#options.disabledSkills ?? []);
    this.#seen = seen;
    this.#rootsThen = JSON.stringify(places);
    const ofSkills = [...resolved.skills, ...resolved.disabled].flatMap((skill) => skill.diagnostics);
    return {
      skills: resolved.skills,
      disabled: resolved.disabled,
      roots: reports,
      diagnostics: [...diagnostics, ...resolved.diagnostics, ...ofSkills],
      collapsed: [...sameFiles.collapsed, ...resolved.collapsed],
    };
  }

  async #readRoot(
    root: Root,
    files: readonly FoundFile[],
    seen: Seen,
  ): Promise<{ skills: Skill[]; diagnostics: Diagnostic[] }> {
    const skills: Skill[] = [];
    const diagnostics: Diagnostic[] = [];
    if (root.status !== 'ok') return { skills, diagnostics };
    const cache = this.#cacheOf(root);
    const place = { scope: root.scope, root: root.path };
    const patience = new Patience();
    // entries() would make three objects more a file
    for (let index = 0; index < files.length; index++) {
      const found = files[index]!;
      const known: Parsed | { problem: Diagnostic } = cache.get(found) ?? (await readInto(cache, found, root));
      if ('problem' in known) {
        diagnostics.push(known.problem);
        if (known.problem.code === 'unreadable') seen.doubt();
      } else if (known.header === undefined || (found.needsKey && !known.hasKnownKey)) {
        diagnostics.push(...whySkipped(known, found));
      } else skills.push(known.skill ?? toSkill(known, known.header, found, place));
      if (index % 64 === 63) await patience.pause();
    }
    cache.save();
    return { skills, diagnostics };
  }

  #cacheOf(root: Root): HeaderCache {
    const key = `${root.kind}:${root.path}`;
    let cache = this.#caches.get(key);
    if (cache === undefined) {
      cache = new HeaderCache(this.#cacheFolder, root);
      this.#caches.set(key, cache);
    }
    return cache;
  }
}

interface Parsed extends Known {
  /** There already, when the file was parsed just now. */
  skill?: Skill | undefined;
}

/** Reads a file that changed, or is new; parses it only when its bytes did. */
async function readInto(cache: HeaderCache, found: FoundFile, root: Root): Promise<Parsed | { problem: Diagnostic }> {
  const { file, size } = found;
  const problem = (code: string, message: string): { problem: Diagnostic } => ({
    problem: { severity: 'error', code, path: file, message },
  });
  if (size > LARGEST_FILE) return problem('too-large', `skipped: ${size} bytes are more than ${LARGEST_FILE}`);
  // taken before the file is read: a change from now on must be noticed
  const readAt = Date.now();
  let source: Uint8Array | string;
  try {
    source = readSource(file);
  } catch (error) {
    return problem('unreadable', `skipped: the file cannot be read (${messageOf(error)})`);
  }
  const old = cache.getOld(found);
  const isTheSame = old !== undefined && old.contentHash === (await contentHashOf(source));
  const known: Parsed = isTheSame ? old : await parse(source, found, root);
  cache.set(found, known, readAt);
  return known;
}

let parser: typeof import('./parse.ts') | undefined;

/** A warm start has every header already and does not need it. */
async function loadParser(): Promise<typeof import('./parse.ts')> {
  parser ??= await import('./parse.ts');
  return parser;
}

async function parse(source: Uint8Array | string, found: FoundFile, root: Root): Promise<Parsed> {
  const { parseSkill } = parser ?? (await loadParser());
  const place = { ...found, scope: root.scope, root: root.path };
  const { contentHash, hasKnownKey, skill, diagnostics } = await parseSkill(source, place);
  return {
    contentHash,
    hasKnownKey,
    header: skill === undefined ? undefined : keepHeader(skill),
    diagnostics: diagnostics.length === 0 ? undefined : diagnostics,
    skill,
  };
}

function whySkipped(known: Known, found: FoundFile): Diagnostic[] {
  if (known.header === undefined) return known.diagnostics ?? [];
  const message = 'no skill: a flat file here needs front matter with a key such as name or description';
  return [{ severity: 'info', code: 'flat-ignored', path: found.file, message }];
}

async function readSkillFile(skill: Skill): Promise<Buffer> {
  try {
    return await readFile(skill.file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const gone = code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR';
    const message = gone
      ? `skill "${skill.name}" no longer exists: ${skill.file} is gone`
      : `skill "${skill.name}" cannot be read: ${messageOf(error)}`;
    throw new ReasonixError(gone ? 'skill_not_found' : 'skill_invalid', message, {
      cause: error,
      hint: gone ? 'List the skills again, or restore the file.' : 'Check the permissions of the file.',
    });
  }
}

const noChanges = (): SkillChanges => ({ added: [], removed: [], changed: [] });

/** Both lists are sorted by name, so that one walk through them tells. */
function changesBetween(before: readonly Skill[], now: readonly Skill[]): SkillChanges {
  const changes: SkillChanges = { added: [], removed: [], changed: [] };
  let old = 0;
  for (const skill of now) {
    while (old < before.length && compareCodePoints(before[old]!.name, skill.name) < 0) {
      changes.removed.push(before[old++]!.name);
    }
    const same = before[old]?.name === skill.name ? before[old++] : undefined;
    if (same === undefined) changes.added.push(skill.name);
    else if (same.stamp !== skill.stamp) changes.changed.push(skill.name);
  }
  changes.removed.push(...before.slice(old).map(({ name }) => name));
  return changes;
}
