import type { RE2JS } from 're2js';
import { messageOf } from '../core/errors.ts';
import type { Clock, Matcher } from './search-matcher.ts';

/** Longest expression, in UTF-16 units, and largest compiled program, in instructions. */
const LONGEST = 1_000;
const LARGEST = 5_000;
/** Instructions times characters between two looks at the clock: about a tenth of a second at the worst. */
const STEPS = 10_000_000;
const LONGEST_PART = 65_536;

const BEFORE = '(?:^|[^\\pL\\pM\\pN_]|\\p{Han}|\\p{Hiragana}|\\p{Katakana}|\\p{Thai})';
const AFTER = BEFORE.replace('^', '$');

/**
 * A regular expression in linear time, whatever it says. A text is searched in parts that end at line
 * ends, so a match does not reach beyond a part. The reason, when the expression cannot be used.
 */
export async function regexMatcher(pattern: string, wholeWords: boolean): Promise<Matcher | { problem: string }> {
  if (pattern.length > LONGEST) return { problem: `it has more than ${LONGEST} characters` };
  const { RE2JS: engine } = await import('re2js');
  const flags = engine.CASE_INSENSITIVE | engine.MULTILINE;
  try {
    const plain = engine.compile(pattern.normalize('NFC'), flags);
    const expression = wholeWords ? engine.compile(`${BEFORE}(?:${pattern.normalize('NFC')})${AFTER}`, flags) : plain;
    const size = expression.programSize();
    if (size > LARGEST) return { problem: 'it is too large' };
    return matcherOf(expression, Math.min(LONGEST_PART, Math.max(1_024, Math.floor(STEPS / Math.max(1, size)))));
  } catch (error) {
    return { problem: messageOf(error).replace(/^error parsing regexp: /, '') };
  }
}

function matcherOf(expression: RE2JS, partLength: number): Matcher {
  const firstPart = (text: string, clock: Clock): string | undefined => {
    for (let start = 0; start <= text.length; ) {
      const end = partEnd(text, start, partLength);
      const part = text.slice(start, end);
      if (expression.test(part)) return part;
      if (end >= text.length || clock.isOver()) return undefined;
      start = end;
    }
    return undefined;
  };
  return {
    terms: 1,
    count: ({ original }, clock) => (firstPart(original, clock) === undefined ? [] : [1]),
    bestLine({ original }, clock) {
      const part = clock.isOver() ? undefined : firstPart(original, clock);
      for (const line of part?.split('\n') ?? []) {
        if (clock.isOver()) return undefined;
        if (!expression.test(line)) continue;
        const found = expression.matcher(line);
        return { line, at: found.find() ? found.start() : 0 };
      }
      return undefined;
    },
  };
}

/** After the last line end that fits, or in the middle of a line that does not. */
function partEnd(text: string, start: number, length: number): number {
  if (text.length - start <= length) return text.length;
  const lineEnd = text.lastIndexOf('\n', start + length - 1);
  return lineEnd >= start ? lineEnd + 1 : start + length;
}
