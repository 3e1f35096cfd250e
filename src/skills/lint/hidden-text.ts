import { oneLine, wellFormed } from '../../core/text.ts';

/** Signs in a text that a reader does not see and a model does, or that change what a reader sees. */
export interface HiddenText {
  kind: 'tags' | 'selectors' | 'override' | 'bidi' | 'invisible' | 'control' | 'separator';
  /** In UTF-16 units. */
  offset: number;
  length: number;
  /** `U+200B`, of the first sign. */
  sign: string;
  /** What tag characters or selectors spell, on one line. */
  decoded?: string | undefined;
}

/** A text with more of them is no text any more. */
const MOST_FOUND = 20_000;

const CANDIDATE =
  /\u034f|[\u17b4\u17b5]|[\u{e0000}-\u{e007f}]+|[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+|[\u200c\u200d]+|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}]/gu;

/**
 * Finds invisible and steering characters. Honest uses pass: joiners and selectors of emoji, joiners in
 * scripts that need them, direction marks and isolates in lines that hold right-to-left text, break
 * points in scripts without blanks, soft hyphens inside words, flags made of tag characters. Ends after
 * 20,000.
 */
export function findHiddenText(text: string): HiddenText[] {
  const found: HiddenText[] = [];
  for (const match of text.matchAll(CANDIDATE)) {
    const run = match[0];
    const before = codePointBefore(text, match.index);
    const after = String.fromCodePoint(text.codePointAt(match.index + run.length) ?? 0x20);
    const judged = judge(run, before, after, () => lineAround(text, match.index));
    if (judged === undefined) continue;
    const { kind, decoded } = judged;
    found.push({ kind, offset: match.index, length: run.length, sign: nameOfSign(run), decoded });
    if (found.length === MOST_FOUND) break;
  }
  return found;
}

type Judged = Pick<HiddenText, 'kind' | 'decoded'> | undefined;

function judge(run: string, before: string, after: string, line: () => string): Judged {
  const code = run.codePointAt(0)!;
  if (code >= 0xe0000 && code <= 0xe007f) return judgeTags(run, before);
  if (isSelector(code)) return judgeSelectors(run, before);
  if (code === 0x200c || code === 0x200d) return isHonestJoiner(run, before, after) ? undefined : { kind: 'invisible' };
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f && code !== 0x85)) return { kind: 'control' };
  if (code === 0x85 || code === 0x2028 || code === 0x2029) return { kind: 'separator' };
  if (code === 0x202d || code === 0x202e) return { kind: 'override' };
  if (isDirection(code)) return RIGHT_TO_LEFT.test(line()) ? undefined : { kind: 'bidi' };
  return isHonestFiller(code, before, after) ? undefined : { kind: 'invisible' };
}

/** Flags of England, Scotland and Wales are a black flag, a few tag letters and the cancel tag. */
function judgeTags(run: string, before: string): Judged {
  if (before === '\u{1f3f4}' && /^[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f}$/u.test(run)) return undefined;
  const letters = [...run].map((sign) => String.fromCodePoint(sign.codePointAt(0)! - 0xe0000));
  return { kind: 'tags', decoded: oneLine(letters.join('')) };
}

const isSelector = (code: number): boolean =>
  (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef);

/** One selector belongs to the sign before it. A row of them spells bytes. */
function judgeSelectors(run: string, before: string): Judged {
  const codes = [...run].map((sign) => sign.codePointAt(0)!);
  if (codes.length === 1) return /[\s\0]/.test(before) ? { kind: 'invisible' } : undefined;
  // emoji that were put through a converter carry the same selector twice
  if (codes.length === 2 && codes.every((code) => code === 0xfe0f || code === 0xfe0e)) return undefined;
  const bytes = codes.map((code) => (code >= 0xe0100 ? code - 0xe0100 + 16 : code - 0xfe00));
  return { kind: 'selectors', decoded: oneLine(wellFormed(Buffer.from(bytes).toString('utf8'))) };
}

const JOINED = /\ufe0f|[\p{L}\p{M}\p{N}\p{Extended_Pictographic}]|[\u{1f3fb}-\u{1f3ff}]/u;
const NEVER_JOINED = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}0-9]/u;

function isHonestJoiner(run: string, before: string, after: string): boolean {
  if (run.length > 1 || !JOINED.test(before) || NEVER_JOINED.test(before)) return false;
  return !NEVER_JOINED.test(after) && (JOINED.test(after) || run === '\u200c');
}

const RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

const isDirection = (code: number): boolean =>
  code === 0x61c || code === 0x200e || code === 0x200f || (code >= 0x202a && code <= 0x202c) || isIsolate(code);

const isIsolate = (code: number): boolean => code >= 0x2066 && code <= 0x2069;

const WITHOUT_BLANKS =
  /[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Javanese}]/u;

function isHonestFiller(code: number, before: string, after: string): boolean {
  const beside = before + after;
  if (code === 0x200b) return WITHOUT_BLANKS.test(beside);
  if (code === 0xad) return /\p{L}/u.test(before) && /\p{L}/u.test(after);
  if (code === 0x34f) return /\p{M}/u.test(beside);
  if (code === 0x2800) return /[\u2800-\u28ff]/.test(beside);
  if (code === 0x115f || code === 0x1160) return /[\u1100-\u11ff]/.test(beside);
  if (code === 0x17b4 || code === 0x17b5) return /\p{Script=Khmer}/u.test(before);
  if (code === 0x180e) return /\p{Script=Mongolian}/u.test(beside);
  return false;
}

function codePointBefore(text: string, offset: number): string {
  if (offset === 0) return '\0';
  const unit = text.charCodeAt(offset - 1);
  const low = unit >= 0xdc00 && unit <= 0xdfff && offset > 1;
  return text.slice(offset - (low ? 2 : 1), offset);
}

/** At most a few hundred characters of it: a line may be the whole file. */
function lineAround(text: string, offset: number): string {
  const near = text.slice(Math.max(0, offset - 200), offset + 200);
  const at = Math.min(offset, 200);
  const start = Math.max(near.lastIndexOf('\n', at - 1), near.lastIndexOf('\r', at - 1)) + 1;
  const end = near.slice(at).search(/[\r\n]/);
  return near.slice(start, end < 0 ? undefined : at + end);
}

const nameOfSign = (run: string): string => `U+${run.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
