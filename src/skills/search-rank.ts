import { compareCodePoints } from './names.ts';
import type { Clock, Matcher, SearchText } from './search-matcher.ts';
import type { Skill } from './types.ts';

/** What of a skill is searched. A body that there was no time for is absent. */
export interface SkillTexts {
  skill: Skill;
  name: SearchText;
  description: SearchText;
  body?: SearchText | undefined;
  references: { path: string; text: SearchText }[];
  /** Occurrences in the body of the terms that the search began with, counted while it was read. */
  bodyCounts?: readonly number[] | undefined;
}

/** Where a term counts most. */
export const LEVEL = { name: 4, description: 3, body: 2, reference: 1 } as const;

export interface Ranked {
  texts: SkillTexts;
  isExact: boolean;
  /** Terms that were found somewhere. */
  terms: number;
  /** Sum of each term's best level. */
  weight: number;
  hits: number;
  /** The lowest level that some term was found at only. */
  deepest: number;
}

export interface RankOptions {
  /** The pattern, folded, to tell an exact name. */
  wanted: string;
  needsAll: boolean;
  /** The counts that were made while the bodies were read are of this matcher's terms. */
  bodiesAreCounted: boolean;
  clock: Clock;
}

/** The skills that match, best first: exact name, terms found, where they were found, hits, name. */
export function rank(all: readonly SkillTexts[], matcher: Matcher, options: RankOptions): Ranked[] {
  // `Release Notes` is `release-notes` to whoever looks for it.
  const names = new Set([options.wanted, options.wanted.replace(/\s+/gu, '-')]);
  const ranked: Ranked[] = [];
  for (const texts of all) {
    const each = evaluate(texts, matcher, options, names);
    if (each !== undefined) ranked.push(each);
  }
  return ranked.sort(
    (a, b) =>
      Number(b.isExact) - Number(a.isExact) ||
      b.terms - a.terms ||
      b.weight - a.weight ||
      b.hits - a.hits ||
      compareCodePoints(a.texts.skill.name, b.texts.skill.name),
  );
}

function evaluate(
  texts: SkillTexts,
  matcher: Matcher,
  { needsAll, bodiesAreCounted, clock }: RankOptions,
  names: ReadonlySet<string>,
): Ranked | undefined {
  const name = matcher.count(texts.name, clock);
  const description = matcher.count(texts.description, clock);
  const body = bodyCounts(texts, matcher, bodiesAreCounted, clock);
  const isExact = names.has(texts.name.folded);
  const isEmpty = name.length === 0 && description.length === 0 && body.length === 0;
  if (isEmpty && !isExact && texts.references.length === 0) return undefined;
  const levels = new Array<number>(matcher.terms).fill(0);
  let hits = 0;
  const add = (counts: readonly number[], level: number): void => {
    for (const [term, count] of counts.entries()) {
      hits += count;
      if (count > 0 && level > levels[term]!) levels[term] = level;
    }
  };
  add(name, LEVEL.name);
  add(description, LEVEL.description);
  add(body, LEVEL.body);
  for (const { text } of texts.references) add(matcher.count(text, clock), LEVEL.reference);
  const terms = levels.filter((level) => level > 0).length;
  if (!isExact && (terms === 0 || (needsAll && terms < matcher.terms))) return undefined;
  const weight = levels.reduce((sum, level) => sum + level, 0);
  const deepest = Math.min(...levels.filter((level) => level > 0), LEVEL.name);
  return { texts, isExact, terms, weight, hits, deepest };
}

function bodyCounts(
  { body, bodyCounts }: SkillTexts,
  matcher: Matcher,
  areCounted: boolean,
  clock: Clock,
): readonly number[] {
  if (body === undefined) return [];
  return areCounted ? (bodyCounts ?? []) : matcher.count(body, clock);
}
