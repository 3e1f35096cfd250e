import { oneLine } from '../core/text.ts';
import { terminalSafe } from '../skills/neutralise.ts';

type Stream = NodeJS.WriteStream;

let colourOff = false;

/** For `--no-color`. */
export function switchColourOff(): void {
  colourOff = true;
}

/** https://no-color.org: any value but an empty one. A pipe is plain unless `FORCE_COLOR` says otherwise. */
export function hasColour(stream: Stream): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (colourOff || NO_COLOR) return false;
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return stream.isTTY === true && TERM !== 'dumb';
}

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;
export type Style = keyof typeof STYLES;
export type Paint = (style: Style, text: string) => string;

/** Colours for one stream; gives the text back as it is where there are none. */
export function paintFor(stream: Stream): Paint {
  if (!hasColour(stream)) return (_, text) => text;
  return (style, text) => {
    const [on, off] = STYLES[style];
    return `\u001b[${on}m${text}\u001b[${off}m`;
  };
}

/** Columns of a stream: its terminal's, else `COLUMNS`, else `fallback`. */
export function columnsOf(stream: Stream, fallback = 80): number {
  const told = stream.columns ?? Number(process.env.COLUMNS);
  return Number.isInteger(told) && told > 0 ? told : fallback;
}

/** Text of others as a terminal may show it: nothing in it moves the cursor or sets colours. */
export const printable = terminalSafe;

/** `printable` on one line. */
export const printableLine = (text: string): string => printable(oneLine(text));

/** Columns that a text takes: marks take none, wide signs two. */
export function widthOf(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  let width = 0;
  for (const sign of text) width += signWidth(sign);
  return width;
}

const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]$/u;
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

const signWidth = (sign: string): number => (NO_WIDTH.test(sign) ? 0 : WIDE.test(sign) ? 2 : 1);

/** At most `columns` of a line, `…` at the end when something was cut. */
export function clipWidth(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let width = 0;
  let end = 0;
  for (const sign of text) {
    width += signWidth(sign);
    if (width > columns - 1) break;
    end += sign.length;
  }
  return columns < 1 ? '' : `${text.slice(0, end)}…`;
}

export const padWidth = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - widthOf(text)));

/** Words of `text` in lines of at most `columns`; a longer word has a line of its own. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter((each) => each !== '')) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > columns) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? lines : [...lines, line];
}

/** A table of texts; the last column takes what is left of `columns`, when they are known. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number | undefined,
): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, index) => Math.max(...all.map((row) => widthOf(row[index] ?? ''))));
  return all.map((row) => {
    const cells = row.map((cell, index) => (index === row.length - 1 ? cell : padWidth(cell, widths[index]!)));
    const line = cells.join('  ').trimEnd();
    return columns === undefined ? line : clipWidth(line, columns);
  });
}
