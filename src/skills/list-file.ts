/** A line of a list file that says something, and where it stands. */
export interface ListLine {
  text: string;
  /** From 1. */
  line: number;
}

/** The lines of a list file: `#` starts a comment at the start of a line or after a blank; empty lines go. */
export function linesOf(text: string): ListLine[] {
  return text
    .split(/\r\n?|\n/)
    .map((line, index) => ({ text: line.replace(/(?:^|\s)#.*$/, '').trim(), line: index + 1 }))
    .filter((line) => line.text !== '');
}
