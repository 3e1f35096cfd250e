import { clipEnd, clipGraphemes, clipStart } from '../core/text.ts';
import { neutralise } from './neutralise.ts';
import type { Clock, Matcher, SearchText } from './search-matcher.ts';
import { LEVEL, type Ranked } from './search-rank.ts';

/** Longest snippet, in graphemes. */
const LIMIT = 160;
/** UTF-16 units kept before the match when the line is longer. */
const BEFORE = 50;
/** UTF-16 units of a line that are looked at around the match. */
const WINDOW = 600;

/** One neutral line that shows why a skill matched: of its body or a reference if that is why, else of its description. */
export function snippetOf({ texts, deepest }: Ranked, matcher: Matcher, clock: Clock): string {
  const fromBody = (): string => (texts.body ? around(texts.body, matcher, clock) : '');
  const fromDescription = (): string => around(texts.description, matcher, clock);
  if (deepest === LEVEL.description) return fromDescription();
  if (deepest === LEVEL.body) return fromBody();
  if (deepest === LEVEL.reference) {
    for (const { path, text } of texts.references) {
      const snippet = around(text, matcher, clock);
      if (snippet !== '') return clipGraphemes(`${neutralise(path)}: ${snippet}`, LIMIT);
    }
  }
  return '';
}

function around(text: SearchText, matcher: Matcher, clock: Clock): string {
  const best = matcher.bestLine(text, clock);
  if (!best) return '';
  const { line, at } = best;
  if (line.length <= WINDOW) {
    const whole = neutralise(line);
    if (clipGraphemes(whole, LIMIT) === whole) return whole;
  }
  const before = clipEnd(line.slice(Math.max(0, at - WINDOW), at), BEFORE);
  const after = clipStart(line.slice(at), WINDOW);
  const shown = neutralise(before + after);
  const start = before.length < at ? '…' : '';
  const end = at + after.length < line.length ? '…' : '';
  return clipGraphemes(`${start}${shown}${end}`, LIMIT);
}
