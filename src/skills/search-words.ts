import { fold, type Matcher, MOST_HITS, type SearchText } from './search-matcher.ts';

const MOST_TERMS = 32;
/** Occurrences that are looked at for the best line. */
const MOST_LOOKED_AT = 64;

/** Scripts whose words stand together without blanks, or with endings that change them. */
const JOINED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc]/u;
const JOINED_RUNS = new RegExp(`${JOINED.source}+|(?:(?!${JOINED.source}).)+`, 'gu');
/** The same without Hangul, which has blanks between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u30fc]/u;
const WORD_SIGN = /[\p{L}\p{M}\p{N}_]/u;

/** Words that say nothing about what is wanted; they count when there is nothing else. */
const FILLERS: ReadonlySet<string> = new Set(
  'a an and are as at be by can do for from how i in into is it its me my of on or our please some that the this to want we what with you your'.split(
    ' ',
  ),
);

export interface Terms {
  /** What a skill should have all of. */
  all: string[];
  /** What it may have any of when no skill has all: the same, and their parts. */
  any: string[];
}

/**
 * The terms of a pattern, folded: its words, without sentence marks and filler words. A run of a script
 * without blanks is one term; its parts are its pairs of characters. A pattern of nothing but signs is
 * a term as it stands.
 */
export function termsOf(pattern: string): Terms {
  const words = fold(pattern)
    .split(/\s+/u)
    .flatMap((word) => word.match(JOINED_RUNS) ?? [])
    .map(withoutMarks)
    .filter((word) => word !== '');
  const telling = words.filter((word) => WORD_SIGN.test(word) && !FILLERS.has(word));
  const all = unique(telling.length > 0 ? telling : words);
  return { all, any: unique(all.flatMap((word) => [word, ...partsOf(word)])) };
}

const unique = (words: readonly string[]): string[] => [...new Set(words)].slice(0, MOST_TERMS);

/** Commas, quotes and brackets around a plain word belong to the sentence; those of `(a+)` or `c++` do not. */
function withoutMarks(word: string): string {
  const bare = word.replace(/^[\p{Ps}\p{Pi}"'`]+|[\p{Pe}\p{Pf}"'`,.;:!?、。，；：！？]+$/gu, '');
  return /^[\p{L}\p{M}\p{N}_-]+$/u.test(bare) ? bare : word;
}

function partsOf(word: string): string[] {
  if (JOINED.test(word)) {
    const signs = [...word];
    return signs.length > 2 ? signs.slice(1).map((sign, index) => `${signs[index]}${sign}`) : [];
  }
  return word.split(/[^\p{L}\p{M}\p{N}]+/u).filter((part) => part.length > 1 && part !== word && !FILLERS.has(part));
}

/** Finds terms as parts of words, or as whole words only. */
export function wordMatcher(terms: readonly string[], wholeWords: boolean): Matcher {
  // A run of a script without blanks also counts as found where all of its pairs are.
  const pairs = terms.map((term) => (!wholeWords && JOINED.test(term) ? partsOf(term) : []));
  return {
    terms: terms.length,
    count({ folded }) {
      let counts: number[] | undefined;
      for (let index = 0; index < terms.length; index++) {
        const count = occurrences(folded, terms[index]!, wholeWords) || hasAll(folded, pairs[index]!);
        if (count > 0) {
          counts ??= terms.map(() => 0);
          counts[index] = count;
        }
      }
      return counts ?? NONE;
    },
    bestLine: (text) => bestLine(text, terms, wholeWords),
  };
}

const NONE: readonly number[] = [];

/** Asked of every text of a library, most of which hold nothing: `positionsOf` makes an object for each. */
function occurrences(text: string, term: string, wholeWords: boolean): number {
  let count = 0;
  for (let at = text.indexOf(term); at >= 0 && count < MOST_HITS; at = text.indexOf(term, at + term.length)) {
    if (!wholeWords || standsAlone(text, at, term)) count++;
  }
  return count;
}

const hasAll = (text: string, pairs: readonly string[]): number =>
  pairs.length > 0 && pairs.every((pair) => text.includes(pair)) ? 1 : 0;

function* positionsOf(text: string, term: string, wholeWords: boolean): Generator<number> {
  for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
    if (!wholeWords || standsAlone(text, at, term)) yield at;
  }
}

function standsAlone(text: string, at: number, term: string): boolean {
  const before = signBefore(text, at);
  const after = signAt(text, at + term.length);
  return isBoundary(before, signAt(term, 0)) && isBoundary(signBefore(term, term.length), after);
}

/** Between two signs of words there is no boundary, unless one is of a script without blanks. */
function isBoundary(left: string, right: string): boolean {
  return !WORD_SIGN.test(left) || !WORD_SIGN.test(right) || UNSPACED.test(left) || UNSPACED.test(right);
}

const signAt = (text: string, at: number): string => {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
};

const signBefore = (text: string, at: number): string => [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? '';

function bestLine(
  text: SearchText,
  terms: readonly string[],
  wholeWords: boolean,
): { line: string; at: number } | undefined {
  const lines = new Map<number, { terms: Set<string>; at: number }>();
  for (const term of terms) {
    let looked = 0;
    for (const at of positionsOf(text.folded, term, wholeWords)) {
      const start = text.folded.lastIndexOf('\n', at - 1) + 1;
      const seen = lines.get(start) ?? { terms: new Set(), at: at - start };
      seen.terms.add(term);
      seen.at = Math.min(seen.at, at - start);
      lines.set(start, seen);
      if (++looked === MOST_LOOKED_AT) break;
    }
  }
  const [best] = [...lines].sort(([a, left], [b, right]) => right.terms.size - left.terms.size || a - b);
  if (!best) return undefined;
  const [start, { at }] = best;
  if (text.folded === text.original) return { line: lineFrom(text.original, start), at };
  const line = lineFrom(text.original, startOfLine(text.original, lineNumber(text.folded, start)));
  const foldedLength = lineFrom(text.folded, start).length;
  // Folding moves positions a little: the same share of the line is near enough for a snippet.
  return { line, at: foldedLength === 0 ? 0 : Math.floor((at / foldedLength) * line.length) };
}

function lineFrom(text: string, start: number): string {
  const end = text.indexOf('\n', start);
  return text.slice(start, end < 0 ? undefined : end);
}

function lineNumber(text: string, position: number): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

function startOfLine(text: string, number: number): number {
  let start = 0;
  for (let line = 0; line < number; line++) start = text.indexOf('\n', start) + 1;
  return start;
}
