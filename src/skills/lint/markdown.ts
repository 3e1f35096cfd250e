/** A span in backticks. */
export interface CodeSpan {
  text: string;
  /** Of the text, in the body. */
  offset: number;
}

export interface Markdown {
  /** The body with code and comments blanked out; every offset is the same as in the body. */
  prose: string;
  /** Spans in backticks outside of code blocks. */
  spans: CodeSpan[];
  /** Comments outside of code, without their delimiters. */
  comments: CodeSpan[];
}

/** Tells prose from code and comments, in time that grows with the length only. */
export function readMarkdown(body: string): Markdown {
  const pieces: string[] = [];
  const spans: CodeSpan[] = [];
  let fence: string | undefined;
  let at = 0;
  for (const match of body.matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g)) {
    const [whole, line = ''] = match;
    if (whole === '') continue;
    const mark = /^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})(.*)$/.exec(line);
    if (fence !== undefined) {
      if (mark?.[1]?.startsWith(fence) && mark[2]!.trim() === '') fence = undefined;
      pieces.push(blank(whole));
    } else if (mark !== null && !(mark[1]!.startsWith('`') && mark[2]!.includes('`'))) {
      fence = mark[1]!;
      pieces.push(blank(whole));
    } else pieces.push(withoutSpans(whole, at, spans));
    at += whole.length;
  }
  return { ...withoutComments(pieces.join('')), spans };
}

const blank = (text: string): string => text.replace(/[^\r\n]/g, ' ');

/** Backticks pair up with the next run of the same length on the line. */
function withoutSpans(line: string, lineStart: number, spans: CodeSpan[]): string {
  const runs = [...line.matchAll(/`+/g)].map((match) => ({ at: match.index, length: match[0].length }));
  const byLength = new Map<number, number[]>();
  for (const [index, { length }] of runs.entries()) byLength.set(length, [...(byLength.get(length) ?? []), index]);
  let result = '';
  let done = 0;
  for (let index = 0; index < runs.length; index++) {
    const { at, length } = runs[index]!;
    const same = byLength.get(length)!;
    while (same.length > 0 && same[0]! <= index) same.shift();
    const close = same[0];
    if (close === undefined) continue;
    const end = runs[close]!.at;
    spans.push({ text: line.slice(at + length, end), offset: lineStart + at + length });
    result += line.slice(done, at) + blank(line.slice(at, end + length));
    done = end + length;
    index = close;
  }
  return result + line.slice(done);
}

function withoutComments(text: string): { prose: string; comments: CodeSpan[] } {
  const comments: CodeSpan[] = [];
  let prose = '';
  let done = 0;
  for (;;) {
    const start = text.indexOf('<!--', done);
    const end = start < 0 ? -1 : text.indexOf('-->', start + 4);
    if (end < 0) return { prose: prose + text.slice(done), comments };
    comments.push({ text: text.slice(start + 4, end), offset: start });
    prose += text.slice(done, start) + blank(text.slice(start, end + 3));
    done = end + 3;
  }
}
