/** A change of whole lines of a front matter. */
export interface HeaderEdit {
  /** The first line that changes, from 1; where new ones go when `before` is empty. */
  line: number;
  before: string[];
  after: string[];
}

/** The lines of a text without their ends, and a way to change some of them that keeps every other byte. */
export class HeaderLines {
  readonly #text: string;
  readonly #lines: { start: number; end: number; next: number }[] = [];
  /** The line of the closing fence, from 1. */
  readonly end: number;

  constructor(text: string, bodyStart: number) {
    this.#text = text;
    let start = 0;
    for (const match of text.slice(0, bodyStart).matchAll(/\r\n|\n|\r/g)) {
      const next = match.index + match[0].length;
      this.#lines.push({ start, end: match.index, next });
      start = next;
    }
    // a closing fence at the very end of the file has no line end
    if (start < bodyStart) this.#lines.push({ start, end: bodyStart, next: bodyStart });
    this.end = this.#lines.length;
  }

  at(line: number): string {
    const found = this.#lines[line - 1];
    return found === undefined ? '' : this.#text.slice(found.start, found.end);
  }

  /** Lines `from` to before `to`. */
  slice(from: number, to: number): string[] {
    return Array.from({ length: Math.max(0, to - from) }, (_, index) => this.at(from + index));
  }

  /** The text with the edit made; new lines end like the one that was there. */
  apply({ line, before, after }: HeaderEdit): string {
    const first = this.#lines[line - 1]!;
    const last = this.#lines[line - 2 + before.length];
    const rest = before.length === 0 ? first.start : last!.next;
    const lineEnd = this.#text.slice(first.end, first.next);
    const lines = after.map((each) => each + lineEnd).join('');
    return this.#text.slice(0, first.start) + lines + this.#text.slice(rest);
  }
}
