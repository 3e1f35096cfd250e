import { KEYS } from './keys.ts';

/** Edits between two short texts: insert, delete, replace, swap of neighbours. */
export function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let best = Math.min(previous[column]! + 1, current[column - 1]! + 1, previous[column - 1]! + (same ? 0 : 1));
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (swapped && row > 1 && column > 1) best = Math.min(best, before[column - 2]! + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[right.length]!;
}

/** The candidate that `name` was probably meant to be. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.slice(0, 100).toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The key that the unknown one resembles: by its last part when the section is wrong, else as a whole. */
export function nearestKey(segments: readonly string[]): string | undefined {
  const candidates = Object.keys(KEYS).map((key) => fillStars(key, segments));
  const last = segments.at(-1);
  const sameLast = candidates.filter((key) => key.split('.').at(-1) === last);
  return (
    nearest(segments.join('.'), sameLast.length > 0 ? sameLast : candidates) ??
    sameLast[0] ??
    nearest(segments.join('.'), candidates)
  );
}

/** A pattern with the names of `segments` in place of its stars, as far as both go together. */
function fillStars(pattern: string, segments: readonly string[]): string {
  const parts = pattern.split('.');
  const together = parts.every(
    (part, index) =>
      index >= segments.length || part === '*' || index === segments.length - 1 || part === segments[index],
  );
  if (!together) return pattern.replaceAll('*', 'NAME');
  return parts.map((part, index) => (part === '*' ? (segments[index] ?? 'NAME') : part)).join('.');
}
