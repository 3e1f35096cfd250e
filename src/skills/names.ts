import { editDistance } from '../core/edit-distance.ts';

const LONGEST = 64;
/** Beyond this a name is no name any more, and is not used at all. */
const LONGEST_USABLE = 256;

/** Ordinary in the alphabet of nearly all of them, told without the tables of Unicode. */
const USUAL = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const ORDINARY = /^[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}._-]*$/u;
const ORDINARY_OF_PLUGIN = /^[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}._-]*(?::[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}._-]*)+$/u;
/** Control, format (bidi and invisible signs, tags), private, separator signs; the two joiners belong to scripts. */
const UNUSABLE = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u;

/** The form in which names are kept, compared and looked up: NFC, without blanks around. */
export const normalName = (text: string): string => text.normalize('NFC').trim();

export type NameVerdict =
  | { use: 'yes' }
  /** Works by exactly this string, but not everywhere: `reason` completes "name …". */
  | { use: 'odd'; reason: string }
  | { use: 'no'; reason: string };

/**
 * Judges a name in its normal form. Names of letters, digits, `.`, `_` and `-`, at most 64 characters,
 * are ordinary. Real libraries also hold blanks, slashes, colons and longer names: those are usable
 * with a warning, since a name is only ever looked up in the index. Refused are names that a reader
 * cannot see or tell apart (control, bidi and invisible signs) and relative paths.
 */
export function judgeName(name: string): NameVerdict {
  if (name.length <= LONGEST && USUAL.test(name)) return { use: 'yes' };
  if (name === '') return { use: 'no', reason: 'is empty' };
  if (UNUSABLE.test(name) || !name.isWellFormed()) {
    return { use: 'no', reason: 'holds control or invisible characters' };
  }
  if (name.split(/[/\\]/).some((part) => part === '.' || part === '..')) {
    return { use: 'no', reason: 'is a relative path' };
  }
  const length = [...name].length;
  if (length > LONGEST_USABLE) return { use: 'no', reason: `has ${length} characters` };
  if (length > LONGEST) return { use: 'odd', reason: `has ${length} characters, more than ${LONGEST}` };
  if (ORDINARY.test(name) || ORDINARY_OF_PLUGIN.test(name)) return { use: 'yes' };
  return { use: 'odd', reason: 'holds characters other than letters, digits, ".", "_" and "-"' };
}

/** Whether a new skill may be given this name: the ordinary ones only. */
export const isOrdinaryName = (name: string): boolean =>
  name === normalName(name) && ORDINARY.test(name) && judgeName(name).use === 'yes';

/** For comparisons that ignore case. */
export const foldName = (name: string): string => normalName(name).toLowerCase();

/** Order by code point, which is the same on every machine; `<` on strings is not, beyond U+FFFF. */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** The items by code point of their keys, as a new list. */
export function sortedByCodePoint<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const keys = items.map(keyOf);
  // below the surrogates the fast comparison of strings gives the same order
  const isPlain = !/[\uD800-\uFFFF]/.test(keys.join(''));
  const compare = isPlain ? (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0) : compareCodePoints;
  if (keys.every((key, index) => index === 0 || compare(keys[index - 1]!, key) <= 0)) return [...items];
  return (isPlain ? sortedByKeys(items, keys) : undefined) ?? [...items].sort((a, b) => compare(keyOf(a), keyOf(b)));
}

/** Sorts strings alone, which asks no function of ours for each pair; `undefined` when two items have one key. */
function sortedByKeys<T>(items: readonly T[], keys: string[]): T[] | undefined {
  const byKey = new Map<string, T>();
  for (let index = 0; index < items.length; index++) byKey.set(keys[index]!, items[index]!);
  return byKey.size === items.length ? keys.sort().map((key) => byKey.get(key)!) : undefined;
}

/** Surrogates stand for code points above all others of 16 bits. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** The names that look most like `name`, best first: by edit distance, a contained name first. Ties by code point. */
export function nearestNames(name: string, names: Iterable<string>, count = 3): string[] {
  const wanted = foldName(name).slice(0, 2 * LONGEST);
  const best: { name: string; score: number }[] = [];
  for (const each of names) {
    const worst = best.length < count ? Number.POSITIVE_INFINITY : best.at(-1)!.score;
    const score = unlikeness(wanted, foldName(each), worst);
    if (score > worst) continue;
    best.push({ name: each, score });
    best.sort((a, b) => a.score - b.score || compareCodePoints(a.name, b.name));
    best.length = Math.min(best.length, count);
  }
  return best.map((each) => each.name);
}

function unlikeness(wanted: string, name: string, worst: number): number {
  const gap = Math.abs(wanted.length - name.length);
  const contained = wanted.length > 1 && name.length > 1 && (name.includes(wanted) || wanted.includes(name));
  if (contained) return gap / 8;
  if (gap > worst) return Number.POSITIVE_INFINITY;
  return editDistance(wanted, name);
}
