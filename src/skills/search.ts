import { setImmediate as nextTurn } from 'node:timers/promises';
import { ReasonixError } from '../core/errors.ts';
import { prompt } from '../core/prompts.ts';
import { shortDescription } from './catalog.ts';
import { neutralise } from './neutralise.ts';
import { parseFlags, type SearchFlags } from './search-flags.ts';
import { Clock, fold, type Matcher } from './search-matcher.ts';
import { type Ranked, rank, type SkillTexts } from './search-rank.ts';
import { regexMatcher } from './search-regex.ts';
import { beginSearch, headerOf, keptBody, readBody, readReferences } from './search-texts.ts';
import { termsOf, wordMatcher } from './search-words.ts';
import { snippetOf } from './snippet.ts';
import { type Skill, type SkillLibrary, SOURCE_OF_SCOPE } from './types.ts';

export interface SearchQuery {
  /** Empty lists everything. */
  pattern: string;
  /** `-i` (always on), `-E` regular expression, `-w` whole words. */
  flags?: string | undefined;
  /** Skills in the answer, 1 to 1,000; default 128. */
  limit?: number | undefined;
  /** Matches that are passed over first. */
  offset?: number | undefined;
  /** Also looks into the text files that come with the skills. */
  references?: boolean | undefined;
}

export interface SearchOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds; what was found by then is the answer. Default 700. */
  budgetMs?: number | undefined;
}

export interface FoundSkill {
  name: string;
  description: string;
  source: string;
  /** Empty for built-ins. */
  path: string;
  run_as: 'inline' | 'subagent';
  /** The line that matched; empty when only the name did. */
  snippet: string;
}

export interface SearchResult {
  skills: FoundSkill[];
  matched: number;
  total: number;
  /** More matched than `skills` and the ones before `offset`. */
  truncated: boolean;
  mode: 'list' | 'search';
  ignored_flags?: string[];
  /** Some bodies were not looked at for want of time. */
  timed_out?: boolean;
  /** What the pattern was taken for when it was not what the flags say. */
  note?: string;
}

const DEFAULT_LIMIT = 128;
const LARGEST_LIMIT = 1_000;
const DEFAULT_BUDGET = 700;
/** Longest pattern that counts, in UTF-16 units. */
const LONGEST_PATTERN = 4_000;
/** UTF-16 units of bodies that one search holds in memory. */
const MOST_TEXT = 256 * 1024 * 1024;
/** Milliseconds of reading and matching after which other work gets its turn. */
const PATIENCE = 20;

/**
 * Searches the resolved library, built-ins alike: names, descriptions, and bodies as they are on disk.
 * Without `-E` the pattern is words: skills that have all of them, and when there is none, those that
 * have any. Ranked by exact name, name, description, body; then by hits; then by name.
 * @throws ReasonixError `cancelled` when the signal aborts.
 */
export async function searchSkills(
  library: SkillLibrary,
  query: SearchQuery,
  options: SearchOptions = {},
): Promise<SearchResult> {
  const total = library.skills.length;
  const limit = within(query.limit, 1, LARGEST_LIMIT, DEFAULT_LIMIT);
  const offset = within(query.offset, 0, Number.MAX_SAFE_INTEGER, 0);
  const flags = parseFlags(query.flags ?? '');
  const ignored = flags.ignored.length > 0 ? { ignored_flags: flags.ignored } : {};
  const pattern = query.pattern.slice(0, LONGEST_PATTERN).trim();
  if (pattern === '') {
    const skills = library.skills.slice(offset, offset + limit).map((skill) => found(skill, ''));
    return { skills, matched: total, total, truncated: offset + skills.length < total, mode: 'list', ...ignored };
  }
  const clock = new Clock(options.budgetMs ?? DEFAULT_BUDGET);
  const { ranked, matcher, note } = await search(
    library,
    { pattern, flags, references: query.references ?? false },
    clock,
    options.signal,
  );
  const page = ranked.slice(offset, offset + limit);
  const timedOut = clock.expired;
  return {
    skills: page.map((each) => found(each.texts.skill, snippetOf(each, matcher, clock))),
    matched: ranked.length,
    total,
    truncated: offset + page.length < ranked.length,
    mode: 'search',
    ...ignored,
    ...(timedOut ? { timed_out: true } : {}),
    ...(note === undefined ? {} : { note }),
  };
}

interface Search {
  pattern: string;
  flags: SearchFlags;
  references: boolean;
}

interface Ranking {
  ranked: Ranked[];
  matcher: Matcher;
  note?: string | undefined;
}

async function search(
  library: SkillLibrary,
  { pattern, flags, references }: Search,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<Ranking> {
  const wanted = fold(pattern);
  let note: string | undefined;
  if (flags.regex) {
    const regex = await regexMatcher(pattern, flags.wholeWords);
    if (!('problem' in regex)) {
      const texts = await collectTexts(library, references, regex, clock, signal);
      return { ranked: rank(texts, regex, { wanted, needsAll: true, bodiesAreCounted: true, clock }), matcher: regex };
    }
    note = prompt('search-not-regex', { problem: neutralise(regex.problem) });
  }
  // What was meant as an expression is one piece of text.
  const terms = flags.regex ? { all: [wanted], any: [wanted] } : termsOf(pattern);
  const strict = wordMatcher(terms.all, flags.wholeWords);
  const texts = await collectTexts(library, references, strict, clock, signal);
  const ranked = rank(texts, strict, { wanted, needsAll: true, bodiesAreCounted: true, clock });
  if (ranked.length > 0 || terms.any.length < 2) return { ranked, matcher: strict, note };
  const loose = wordMatcher(terms.any, flags.wholeWords);
  const bodiesAreCounted = terms.any.join(' ') === terms.all.join(' ');
  const some = rank(texts, loose, { wanted, needsAll: false, bodiesAreCounted, clock });
  return { ranked: some, matcher: loose, note: some.length > 0 ? prompt('search-any-word') : note };
}

/** The texts of every skill, as many bodies as there is time and room for. */
async function collectTexts(
  library: SkillLibrary,
  references: boolean,
  matcher: Matcher,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<SkillTexts[]> {
  stopIfAborted(signal);
  beginSearch();
  const all: SkillTexts[] = [];
  let units = 0;
  let resumedAt = performance.now();
  for (const skill of library.skills) {
    const { name, description } = headerOf(skill);
    const texts: SkillTexts = { skill, name, description, references: [] };
    all.push(texts);
    if (units > MOST_TEXT) clock.expired = true;
    if (clock.isOver()) continue;
    texts.body = keptBody(skill) ?? (await readBody(library, skill));
    units += texts.body.original.length;
    if (references) texts.references = await readReferences(skill);
    texts.bodyCounts = matcher.count(texts.body, clock);
    if (performance.now() - resumedAt > PATIENCE) {
      await nextTurn();
      stopIfAborted(signal);
      resumedAt = performance.now();
    }
  }
  return all;
}

function stopIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ReasonixError('cancelled', 'the search was cancelled');
}

function found(skill: Skill, snippet: string): FoundSkill {
  return {
    name: neutralise(skill.name),
    description: shortDescription(skill.description),
    source: SOURCE_OF_SCOPE[skill.scope],
    path: skill.scope === 'builtin' ? '' : neutralise(skill.file),
    run_as: skill.runAs,
    snippet,
  };
}

function within(value: number | undefined, least: number, most: number, otherwise: number): number {
  if (value === undefined || !Number.isFinite(value)) return otherwise;
  return Math.min(most, Math.max(least, Math.trunc(value)));
}
