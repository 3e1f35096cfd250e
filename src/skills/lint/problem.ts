import type { Diagnostic } from '../types.ts';

/** One thing that lint has to say about a file. */
export interface LintProblem {
  path: string;
  /** From 1; absent when it concerns the whole file. */
  line?: number | undefined;
  severity: Diagnostic['severity'];
  /** Stable, kebab-case. Those of `--strict` start with `spec-`. */
  code: string;
  message: string;
  /** `--fix` would make it go away. */
  fixable: boolean;
}

/** A problem whose file is known from where it was found. */
export type Finding = Omit<LintProblem, 'path' | 'fixable'>;

/** The line, from 1, of each offset of a text; lines end with `\n`, `\r\n` or a lone `\r`. */
export function lineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (const match of text.matchAll(/\r\n|\n|\r/g)) starts.push(match.index + match[0].length);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

/** `1 file`, `2 files`. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
