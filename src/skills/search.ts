import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { clipGraphemes } from '../core/text.ts';
import { compareCodePoints } from './names.ts';
import { neutralise } from './neutralise.ts';
import { type Hit, type Matcher, matcherOf, parseFlags } from './search-matcher.ts';
import { fold } from './search-words.ts';
import { type Skill, type SkillLibrary, SOURCE_OF_SCOPE } from './types.ts';

export interface SearchQuery {
  /** Empty lists everything. */
  pattern: string;
  /** `-i` (always on), `-E`, `-w`. */
  flags?: string | undefined;
  /** Default 128. */
  limit?: number | undefined;
  offset?: number | undefined;
  /** Also looks into the files of `references/`. */
  references?: boolean | undefined;
}

export interface FoundSkill {
  name: string;
  description: string;
  source: string;
  /** Empty for built-ins. */
  path: string;
  run_as: 'inline' | 'subagent';
  snippet: string;
}

export interface SearchResult {
  skills: FoundSkill[];
  matched: number;
  total: number;
  truncated: boolean;
  mode: 'list' | 'search';
  ignored_flags?: string[];
  timed_out?: boolean;
  note?: string;
}

const DEFAULT_LIMIT = 128;
const SNIPPET_LIMIT = 160;
/** Milliseconds that a search may take; what was found by then is the answer. */
const TIME_LIMIT = 1_000;
/** Characters of a body that are searched. */
const LARGEST_TEXT = 512 * 1024;
/** Characters of bodies that are kept in memory. */
const CACHE_LIMIT = 32 * 1024 * 1024;
/** Bodies read at once. */
const READERS = 32;

/** Where a pattern was found, best first. */
const RANK = { exact: 0, name: 1, description: 2, body: 3 } as const;

interface Ranked {
  skill: Skill;
  rank: number;
  parts: Set<number>;
  snippet: string;
}

/**
 * Searches the resolved library, built-ins alike: names, descriptions and bodies as they are on disk.
 * Without flags the pattern is words, of which all must be there; when no skill has all, any will do.
 */
export async function searchSkills(
  library: SkillLibrary,
  query: SearchQuery,
  options: { signal?: AbortSignal | undefined; budgetMs?: number | undefined } = {},
): Promise<SearchResult> {
  const { pattern, limit = DEFAULT_LIMIT, offset = 0 } = query;
  const flags = parseFlags(query.flags ?? '');
  const total = library.skills.length;
  const ignored = flags.ignored.length > 0 ? { ignored_flags: flags.ignored } : {};
  if (pattern.trim() === '') {
    const skills = library.skills.slice(offset, offset + limit).map((skill) => entry(skill, ''));
    return { skills, matched: total, total, truncated: offset + skills.length < total, mode: 'list', ...ignored };
  }
  const matcher = await matcherOf(pattern, flags);
  const deadline = performance.now() + (options.budgetMs ?? TIME_LIMIT);
  const { ranked, timedOut } = await rankAll(library.skills, matcher, pattern, {
    references: query.references ?? false,
    deadline,
    signal: options.signal,
  });
  const complete = ranked.filter(({ parts }) => parts.size === matcher.parts);
  const matches = complete.length > 0 || !matcher.isLoose ? complete : ranked;
  matches.sort(
    (a, b) => a.rank - b.rank || b.parts.size - a.parts.size || compareCodePoints(a.skill.name, b.skill.name),
  );
  if (complete.length === 0) matches.sort((a, b) => b.parts.size - a.parts.size);
  const page = matches.slice(offset, offset + limit);
  return {
    skills: page.map(({ skill, snippet }) => entry(skill, snippet)),
    matched: matches.length,
    total,
    truncated: offset + page.length < matches.length,
    mode: 'search',
    ...ignored,
    ...(timedOut ? { timed_out: true } : {}),
    ...(matcher.note ? { note: matcher.note } : {}),
  };
}

async function rankAll(
  skills: readonly Skill[],
  matcher: Matcher,
  pattern: string,
  { references, deadline, signal }: { references: boolean; deadline: number; signal: AbortSignal | undefined },
): Promise<{ ranked: Ranked[]; timedOut: boolean }> {
  const ranked: Ranked[] = [];
  const wanted = fold(pattern.trim());
  let next = 0;
  let timedOut = false;
  const work = async () => {
    while (next < skills.length && !timedOut) {
      signal?.throwIfAborted();
      if (performance.now() > deadline) timedOut = true;
      const skill = skills[next++];
      if (!skill) return;
      const header = rankHeader(skill, matcher, wanted);
      // A name or description that has every word needs no look at the body.
      const found =
        header?.parts.size === matcher.parts
          ? header
          : withBody(header, skill, matcher, await textsOf(skill, references));
      if (found) ranked.push(found);
    }
  };
  await Promise.all(Array.from({ length: READERS }, work));
  return { ranked, timedOut };
}

function rankHeader(skill: Skill, matcher: Matcher, wanted: string): Ranked | undefined {
  const snippet = '';
  const inName = matcher.hit(skill.name);
  if (fold(skill.name) === wanted) return { skill, rank: RANK.exact, parts: allParts(matcher), snippet };
  const inDescription = matcher.hit(skill.description);
  const parts = new Set([...(inName?.parts ?? []), ...(inDescription?.parts ?? [])]);
  if (parts.size === 0) return undefined;
  const rank = inName && inName.parts.size >= (inDescription?.parts.size ?? 0) ? RANK.name : RANK.description;
  return { skill, rank, parts, snippet: inDescription ? snippetOf(skill.description, inDescription) : snippet };
}

function withBody(
  header: Ranked | undefined,
  skill: Skill,
  matcher: Matcher,
  texts: readonly string[],
): Ranked | undefined {
  let found = header;
  for (const text of texts) {
    const hit = matcher.hit(text);
    if (!hit) continue;
    const parts = new Set([...(found?.parts ?? []), ...hit.parts]);
    found = { skill, rank: found?.rank ?? RANK.body, parts, snippet: found?.snippet || snippetOf(text, hit) };
  }
  return found;
}

const allParts = (matcher: Matcher): Set<number> => new Set(Array.from({ length: matcher.parts }, (_, index) => index));

/** The line around a hit. Folding may shift positions a little, which a snippet can bear. */
function snippetOf(text: string, { at }: Hit): string {
  const start = Math.max(0, text.lastIndexOf('\n', at) + 1, at - SNIPPET_LIMIT / 2);
  const end = text.indexOf('\n', at);
  const line = text.slice(start, end < 0 ? start + 4 * SNIPPET_LIMIT : Math.min(end, start + 4 * SNIPPET_LIMIT));
  return clipGraphemes(neutralise(line.toWellFormed()), SNIPPET_LIMIT);
}

function entry(skill: Skill, snippet: string): FoundSkill {
  return {
    name: neutralise(skill.name),
    description: clipGraphemes(neutralise(skill.description), 255),
    source: SOURCE_OF_SCOPE[skill.scope],
    path: skill.scope === 'builtin' ? '' : skill.file,
    run_as: skill.runAs,
    snippet,
  };
}

const cache = new Map<string, string>();
let cached = 0;

/** The file of a skill, from memory while it has not changed, and its references when asked for. */
async function textsOf(skill: Skill, references: boolean): Promise<string[]> {
  let text = cache.get(skill.stamp);
  if (text === undefined) {
    text = await readText(skill.file);
    remember(skill.stamp, text);
  }
  return references ? [text, ...(await referencesOf(skill))] : [text];
}

function remember(stamp: string, text: string): void {
  cache.set(stamp, text);
  cached += text.length;
  for (const [oldest, old] of cache) {
    if (cached <= CACHE_LIMIT) break;
    cache.delete(oldest);
    cached -= old.length;
  }
}

async function referencesOf(skill: Skill): Promise<string[]> {
  if (skill.layout !== 'folder') return [];
  const folder = join(skill.folder, 'references');
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const texts = names.filter((name) => /\.(md|txt|json|ya?ml)$/i.test(name)).sort();
  return Promise.all(texts.slice(0, 100).map((name) => readText(join(folder, name))));
}

async function readText(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.slice(0, LARGEST_TEXT);
}
