/** Something about the fences that the reader of the file should know. */
export interface FenceNote {
  code: string;
  severity: 'warning' | 'info';
  /** In the file, from 1. */
  line: number;
  message: string;
}

export interface Fenced {
  /** The lines between the fences with `\n` as line end; absent when the file has no front matter. */
  header?: string | undefined;
  /** Line of the header's first line in the file, from 1. */
  headerLine: number;
  /** Where the body starts in the text. */
  bodyStart: number;
  /**
   * The fences are wrong, but what looks like a header was told apart. Its keys count, so that no
   * restriction is lost; the body is the whole file, so that no text is.
   */
  rescued: boolean;
  notes: FenceNote[];
}

interface Line {
  text: string;
  start: number;
  /** After the line end. */
  next: number;
}

const LINE_END = /\r\n|\n|\r/g;
const FENCE = /^---[ \t]*$/;
const KEY_LINE = /^["']?[A-Za-z_][\w.-]*["']?[ \t]*:(?:[ \t]|$)/;
const FIRST_KEY = /^(?:name|description)[ \t]*:(?:[ \t]|$)/i;
const RESCUE_LINES = 200;
const SEARCHED_LINES = 10;

/**
 * Finds the front matter: between a line that is exactly `---` at the start of the text and the next
 * such line. Blanks after the dashes are allowed, anything else makes it another line. Line ends are
 * `\n`, `\r\n` or a lone `\r`; no other sign ends a line.
 */
export function findFrontMatter(text: string): Fenced {
  const first = lineAt(text, 0);
  if (FENCE.test(first.text)) return fromFence(text, first, 1, []);
  if (first.text.startsWith('---') && /^---[ \t]*[A-Za-z]/.test(first.text)) {
    return none([note('fence-language', 1, `"${first.text.trim()}" opens no front matter: only a bare "---" does`)]);
  }
  return afterPreamble(text) ?? rescue(text) ?? none([]);
}

function none(notes: FenceNote[]): Fenced {
  return { headerLine: 1, bodyStart: 0, rescued: false, notes };
}

function note(code: string, line: number, message: string): FenceNote {
  return { code, severity: 'warning', line, message };
}

function fromFence(text: string, fence: Line, fenceLine: number, notes: FenceNote[]): Fenced {
  const lines: string[] = [];
  for (let at = fence.next; at < text.length; ) {
    const line = lineAt(text, at);
    if (FENCE.test(line.text)) {
      return { header: lines.join('\n'), headerLine: fenceLine + 1, bodyStart: line.next, rescued: false, notes };
    }
    lines.push(line.text);
    at = line.next;
  }
  return {
    ...rescuedHeader(apparentHeader(lines), fenceLine + 1),
    notes: [
      ...notes,
      note('fence-unclosed', fenceLine, 'the front matter has no closing "---" line: the whole file is the body'),
    ],
  };
}

/** Blank lines and HTML comments before the fence are forgiven. */
function afterPreamble(text: string): Fenced | undefined {
  const start = afterBlanksAndComments(text);
  if (start === 0) return undefined;
  const fence = lineAt(text, start);
  if (!FENCE.test(fence.text)) return undefined;
  const preamble = text.slice(0, start);
  const line = countLines(preamble);
  const what = preamble.trim() === '' ? 'blank lines' : 'a comment';
  return fromFence(text, fence, line, [
    note('fence-not-first', line, `${what} before the front matter; other programs will not find it`),
  ]);
}

/** Start of the first line that is neither blank nor inside a comment. */
function afterBlanksAndComments(text: string): number {
  let lineStart = 0;
  for (let at = 0; at < text.length; ) {
    const sign = text[at];
    if (sign === '\n' || sign === '\r') lineStart = ++at;
    else if (sign === ' ' || sign === '\t') at++;
    else if (text.startsWith('<!--', at)) {
      const end = text.indexOf('-->', at);
      if (end < 0) return lineStart;
      at = end + 3;
    } else return lineStart;
  }
  return lineStart;
}

function rescue(text: string): Fenced | undefined {
  const lines = firstLines(text, RESCUE_LINES + SEARCHED_LINES);
  const start = lines.findIndex((line) => line.trim() !== '');
  if (start < 0) return undefined;
  if (FIRST_KEY.test(lines[start]!)) {
    const message = 'keys at the start of the file, but no "---" line before them: the whole file is the body';
    return {
      ...rescuedHeader(apparentHeader(lines.slice(start)), start + 1),
      notes: [note('fence-missing', start + 1, message)],
    };
  }
  return rescueLater(lines, start);
}

/** Front matter that is wrapped in a code fence, or stands after some text. */
function rescueLater(lines: string[], start: number): Fenced | undefined {
  const wrapped = /^(?:```|~~~)\w*[ \t]*$/.test(lines[start]!);
  for (let at = start + 1; at < Math.min(lines.length - 1, start + SEARCHED_LINES); at++) {
    const line = lines[at]!;
    if (!wrapped && /^(?:```|~~~)/.test(line)) return undefined;
    if (!FENCE.test(line)) continue;
    const header = lines.slice(at + 1);
    const end = header.findIndex((each) => FENCE.test(each));
    if (end < 1 || !KEY_LINE.test(header[0]!)) return undefined;
    const message = wrapped
      ? 'the front matter is inside a code block: the whole file is the body'
      : 'text before the front matter: the whole file is the body';
    return {
      ...rescuedHeader(header.slice(0, end), at + 2),
      notes: [note(wrapped ? 'fence-in-code' : 'fence-after-text', at + 1, message)],
    };
  }
  return undefined;
}

function rescuedHeader(lines: string[], headerLine: number): Omit<Fenced, 'notes'> {
  const header = lines.length === 0 ? undefined : lines.join('\n');
  return { header, headerLine, bodyStart: 0, rescued: true };
}

/** The lines that still look like a header: up to a heading, a code block, a dashed line, or prose after a blank line. */
function apparentHeader(lines: string[]): string[] {
  const header: string[] = [];
  let inField = false;
  for (const [index, line] of lines.slice(0, RESCUE_LINES).entries()) {
    if (/^\s*---/.test(line) || /^(?:```|~~~)/.test(line)) break;
    const afterBlank = index > 0 && lines[index - 1]!.trim() === '';
    const isKey = KEY_LINE.test(line);
    if (afterBlank && line.trim() !== '' && !isKey && !(inField && /^[ \t]/.test(line))) break;
    if (isKey) inField = true;
    else if (!inField && line.trim() !== '') break;
    header.push(line);
  }
  return header;
}

function firstLines(text: string, limit: number): string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length && lines.length < limit; ) {
    const line = lineAt(text, at);
    lines.push(line.text);
    at = line.next;
  }
  return lines;
}

function lineAt(text: string, start: number): Line {
  LINE_END.lastIndex = start;
  const end = LINE_END.exec(text);
  if (end === null) return { text: text.slice(start), start, next: text.length };
  return { text: text.slice(start, end.index), start, next: LINE_END.lastIndex };
}

function countLines(text: string): number {
  return text.split(/\r\n|\n|\r/).length;
}
