import { editDistance } from '../core/edit-distance.ts';
import { KEYS } from './keys.ts';

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
