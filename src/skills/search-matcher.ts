import { messageOf } from '../core/errors.ts';
import { fold, indexOfWord, wordsOf } from './search-words.ts';

/** Where a text matches: how many parts of the pattern it has, and where the first one starts. */
export interface Hit {
  /** The parts that were found, by number. */
  parts: Set<number>;
  /** Position in the text, for the snippet. */
  at: number;
}

export interface Matcher {
  /** How many parts there are: words of the pattern, or 1. */
  readonly parts: number;
  /** Any part may be missing as long as no skill has all of them. */
  readonly isLoose: boolean;
  hit(text: string): Hit | undefined;
  /** What the pattern was taken for when it was not what the flags say. */
  readonly note?: string | undefined;
}

export interface SearchFlags {
  regex: boolean;
  word: boolean;
  ignored: string[];
}

/** `-i`, `-E` and `-w`, alone or in a bundle; everything else is named as ignored. */
export function parseFlags(text: string): SearchFlags {
  const flags: SearchFlags = { regex: false, word: false, ignored: [] };
  for (const word of text.split(/[\s,]+/).filter((part) => part !== '')) {
    if (!/^-[a-z]+$/i.test(word)) {
      flags.ignored.push(word);
      continue;
    }
    for (const letter of word.slice(1)) {
      if (letter === 'E') flags.regex = true;
      else if (letter === 'w') flags.word = true;
      else if (letter !== 'i') flags.ignored.push(`-${letter}`);
    }
  }
  return flags;
}

export async function matcherOf(pattern: string, flags: SearchFlags): Promise<Matcher> {
  if (!flags.regex) return wordMatcher(pattern, flags.word);
  const { RE2JS } = await import('re2js');
  try {
    const source = flags.word ? `(?:^|[^\\pL\\pN_])(?:${pattern})(?:$|[^\\pL\\pN_])` : pattern;
    const compiled = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE | RE2JS.MULTILINE);
    return {
      parts: 1,
      isLoose: false,
      hit(text) {
        const found = compiled.matcher(text);
        return found.find() ? { parts: new Set([0]), at: found.start() } : undefined;
      },
    };
  } catch (error) {
    const note = `not a valid regular expression (${messageOf(error)}); searched as text`;
    return { ...textMatcher(pattern, flags.word), note };
  }
}

function wordMatcher(pattern: string, whole: boolean): Matcher {
  const words = wordsOf(pattern);
  return {
    parts: words.length,
    isLoose: true,
    hit(text) {
      const folded = fold(text);
      const parts = new Set<number>();
      let at = -1;
      for (const [index, word] of words.entries()) {
        const found = indexOfWord(folded, word, whole);
        if (found < 0) continue;
        parts.add(index);
        if (at < 0 || found < at) at = found;
      }
      return parts.size > 0 ? { parts, at } : undefined;
    },
  };
}

function textMatcher(pattern: string, whole: boolean): Matcher {
  const wanted = fold(pattern);
  return {
    parts: 1,
    isLoose: false,
    hit(text) {
      const at = indexOfWord(fold(text), wanted, whole);
      return at < 0 ? undefined : { parts: new Set([0]), at };
    },
  };
}
