import { clipStart } from '../core/text.ts';
import { neutralise } from './neutralise.ts';

export interface SearchFlags {
  /** `-E`: the pattern is a regular expression. */
  regex: boolean;
  /** `-w`: whole words only. */
  wholeWords: boolean;
  /** What was asked for and is not known, each once. */
  ignored: string[];
}

const MOST_IGNORED = 8;
const LONGEST_IGNORED = 20;

/** `-i` (always on), `-E` and `-w`, alone or bundled (`-iE`), with or without the dash. Others are ignored by name. */
export function parseFlags(text: string): SearchFlags {
  const flags: SearchFlags = { regex: false, wholeWords: false, ignored: [] };
  const ignored = new Set<string>();
  for (const word of text.slice(0, 1_000).split(/[\s,]+/)) {
    if (word === '') continue;
    const bundle = /^-?[iEw]+$/.test(word) || /^-[^-]/.test(word);
    if (!bundle) ignored.add(word);
    else {
      for (const letter of word.replace(/^-/, '')) {
        if (letter === 'E') flags.regex = true;
        else if (letter === 'w') flags.wholeWords = true;
        else if (letter !== 'i') ignored.add(`-${letter}`);
      }
    }
  }
  flags.ignored = [...ignored].slice(0, MOST_IGNORED).map((flag) => clipStart(neutralise(flag), LONGEST_IGNORED));
  return flags;
}
