let segmenter: Intl.Segmenter | undefined;

/** Made when first needed: its data takes longer to load than most commands run. */
function graphemes(text: string): Iterable<{ index: number }> {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** Replaces lone surrogates, which no provider accepts and no JSON reader agrees on. */
export const wellFormed = (text: string): string => (text.isWellFormed() ? text : text.toWellFormed());

/** The longest start of `text` that has at most `limit` UTF-16 units and ends at a grapheme boundary. */
export function clipStart(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return text.slice(0, boundaryAtOrBefore(text, limit));
}

/** The longest end of `text` that has at most `limit` UTF-16 units and starts at a grapheme boundary. */
export function clipEnd(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const from = text.length - limit;
  const boundary = boundaryAtOrBefore(text, from);
  return text.slice(boundary === from ? from : nextBoundary(text, boundary));
}

/** At most `limit` graphemes of `text`, with `…` in place of the last one when something was cut. */
export function clipGraphemes(text: string, limit: number): string {
  if (text.length <= limit) return text;
  if (/^[\x20-\x7e]*$/.test(text)) return `${text.slice(0, limit - 1)}…`;
  let count = 0;
  let lastStart = 0;
  for (const { index } of graphemes(text)) {
    if (count === limit - 1) lastStart = index;
    if (count === limit) return `${text.slice(0, lastStart)}…`;
    count++;
  }
  return text;
}

/** Folds every run of white space, line separators and control characters into one blank. */
export function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}

/** Length of `text` in UTF-8. */
export const byteLength = (text: string): number => Buffer.byteLength(text, 'utf8');

/** A grapheme is never longer than this here: the segmenter looks only at a window of this size. */
const WINDOW = 256;

function boundaryAtOrBefore(text: string, position: number): number {
  const start = Math.max(0, position - WINDOW);
  let boundary = start;
  for (const { index } of graphemes(text.slice(start, position + WINDOW))) {
    if (start + index > position) break;
    boundary = start + index;
  }
  return boundary;
}

function nextBoundary(text: string, position: number): number {
  for (const { index } of graphemes(text.slice(position, position + 2 * WINDOW))) {
    if (index > 0) return position + index;
  }
  return text.length;
}

/** Whether a text is one JSON value. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
