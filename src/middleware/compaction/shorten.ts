import { clipEnd, clipStart } from '../../core/text.ts';

/** Room that the marker between head and tail takes, in characters. */
const MARKER = 130;

/**
 * Head and tail of a text in about so many characters, cut between graphemes. The marker between them
 * is told at which character the head ends.
 */
export function shorten(text: string, characters: number, marker: (offset: number) => string): string {
  if (text.length <= characters) return text;
  const room = Math.max(0, characters - MARKER);
  const head = clipStart(text, Math.floor(room * 0.75));
  const tail = clipEnd(text, Math.floor(room * 0.25));
  return `${head}\n${marker(head.length)}\n${tail}`.trim();
}

/**
 * The length to which the longest of several texts are cut so that all together lose `excess`, or
 * `least` when even that is not enough.
 */
export function levelFor(lengths: readonly number[], excess: number, least: number): number {
  const sorted = lengths.toSorted((left, right) => right - left);
  let sum = 0;
  for (const [index, length] of sorted.entries()) {
    sum += length;
    const level = Math.floor((sum - excess) / (index + 1));
    if (level >= Math.max(least, sorted[index + 1] ?? least)) return level;
  }
  return least;
}
