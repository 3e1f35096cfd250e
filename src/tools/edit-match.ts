import { clipGraphemes } from '../core/text.ts';

/** A place in a text: from `start` to before `end`. */
export interface Place {
  start: number;
  end: number;
}

/** Where `wanted` stands in `text`, word for word except that `\n` and `\r\n` are the same. */
export function findPlaces(text: string, wanted: string): Place[] {
  const lines = wanted.split(/\r?\n/).map((line) => line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return Array.from(text.matchAll(new RegExp(lines.join('\r?\n'), 'g')), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** `text` with the places replaced, literally, its line ends as the file has them. */
export function replacePlaces(text: string, places: readonly Place[], replacement: string): string {
  const windows = (text.match(/\r\n/g)?.length ?? 0) * 2 > (text.match(/\n/g)?.length ?? 0);
  const fitting = windows ? replacement.replace(/\r?\n/g, '\r\n') : replacement;
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of places) {
    pieces.push(text.slice(from, start), fitting);
    from = end;
  }
  pieces.push(text.slice(from));
  return pieces.join('');
}

/** The line, from 1, that a position is in. */
export function lineAt(text: string, position: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

const MAX_COMPARED = 20_000;

/** The line of `text` most like the first line of `wanted` that says something, if one is like it at all. */
export function nearestLine(text: string, wanted: string): { line: number; shown: string } | undefined {
  const target = squeeze(wanted.split('\n').find((line) => squeeze(line) !== '') ?? '');
  if (target === '') return undefined;
  const pairs = pairsOf(target);
  let best: { line: number; shown: string } | undefined;
  let bestScore = 0.5;
  for (const [index, line] of text.split('\n').slice(0, MAX_COMPARED).entries()) {
    const score = likeness(pairs, squeeze(line));
    if (score <= bestScore) continue;
    bestScore = score;
    best = { line: index + 1, shown: clipGraphemes(line.trimEnd(), 200) };
  }
  return best;
}

const squeeze = (line: string): string => line.trim().replace(/\s+/g, ' ').slice(0, 400);

function pairsOf(text: string): Map<string, number> {
  const pairs = new Map<string, number>();
  for (let at = 0; at < text.length; at++) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

/** Share of letter pairs that two texts have in common, 0 to 1. */
function likeness(pairs: ReadonlyMap<string, number>, text: string): number {
  if (text === '') return 0;
  let common = 0;
  let total = 0;
  for (const [pair, count] of pairsOf(text)) {
    common += Math.min(count, pairs.get(pair) ?? 0);
    total += count;
  }
  for (const count of pairs.values()) total += count;
  return (2 * common) / total;
}
