/** A text to search: as a reader sees it, and folded for comparison. Both have the same lines. */
export interface SearchText {
  original: string;
  folded: string;
}

/** What a pattern is looked for with: words, or a regular expression, which is one term. */
export interface Matcher {
  readonly terms: number;
  /** Occurrences of each term, up to `MOST_HITS`; empty when there are none at all. */
  count(text: SearchText, clock: Clock): readonly number[];
  /** The line that shows the most of the pattern, and where in it the pattern starts. */
  bestLine(text: SearchText, clock: Clock): { line: string; at: number } | undefined;
}

/** More occurrences than this in one text say nothing more. */
export const MOST_HITS = 8;

const isPlain = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/**
 * Case, width and compatible forms folded, so that `ＡＢ`, `AB` and `ab` are one, and `ﬁ`, `ß`, final
 * sigma and the dotted capital I are what people type.
 */
export function fold(text: string): string {
  if (isPlain(text)) return text.toLowerCase();
  return text.normalize('NFKC').toLowerCase().replaceAll('ß', 'ss').replaceAll('ς', 'σ').replaceAll('i\u0307', 'i');
}

export function searchText(text: string): SearchText {
  const original = isPlain(text) ? text : text.normalize('NFC');
  const folded = fold(original);
  // Equal texts share one string in memory.
  return { original, folded: folded === original ? original : folded };
}

/** Ends a search in time: bodies of unknown number and patterns of unknown cost must not hold a session up. */
export class Clock {
  readonly #deadline: number;
  /** Whether something was left out because time was up. */
  expired = false;

  constructor(milliseconds: number) {
    this.#deadline = performance.now() + milliseconds;
  }

  isOver(): boolean {
    if (performance.now() > this.#deadline) this.expired = true;
    return this.expired;
  }
}
