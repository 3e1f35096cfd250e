import { isUtf8 } from 'node:buffer';

/** `latin1` stands for every 8-bit encoding that is not known: each byte is one sign, so nothing is lost. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'gb18030' | 'latin1';

/** Bytes that are looked at to tell what a file is. */
export const SAMPLE_BYTES = 64 * 1024;

/** The encoding of a file by its first bytes, or `binary`. `whole`: the sample is all of it. */
export function sniff(sample: Uint8Array, whole: boolean): TextEncoding | 'binary' {
  const [a, b] = sample;
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  if (sample.includes(0)) return 'binary';
  if (isUtf8(whole ? sample : withoutPartialSign(sample))) return 'utf-8';
  if (sample.some((byte) => byte < 9 || (byte > 13 && byte < 27) || (byte > 27 && byte < 32))) return 'binary';
  return isChinese(sample) ? 'gb18030' : 'latin1';
}

function withoutPartialSign(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return bytes.subarray(0, bytes.length - back);
    if (byte < 0x80) break;
  }
  return bytes;
}

/** Good GB18030 whose bytes beyond ASCII come in pairs; letters with accents stand alone among ASCII ones. */
function isChinese(sample: Uint8Array): boolean {
  if (new TextDecoder('gb18030').decode(sample, { stream: true }).includes('\uFFFD')) return false;
  let paired = 0;
  let beyond = 0;
  let run = 0;
  for (const byte of [...sample, 0]) {
    if (byte >= 0xa1) {
      run++;
      continue;
    }
    beyond += run + (byte >= 0x80 ? 1 : 0);
    if (run % 2 === 0) paired += run;
    run = 0;
  }
  return paired > beyond * 0.9;
}

/** A decoder for a file in pieces, its byte order mark left out. */
export function decoderOf(encoding: TextEncoding): (bytes: Uint8Array, last: boolean) => string {
  if (encoding === 'latin1') return (bytes) => Buffer.from(bytes).toString('latin1');
  const decoder = new TextDecoder(encoding);
  return (bytes, last) => decoder.decode(bytes, { stream: !last });
}

export interface TextFile {
  text: string;
  encoding: TextEncoding;
  mark: boolean;
}

/** A whole file as text, or `undefined` when it is binary. */
export function decodeFile(bytes: Uint8Array): TextFile | undefined {
  const encoding = sniff(bytes, true);
  if (encoding === 'binary') return undefined;
  const [a, b, c] = bytes;
  const mark = encoding.startsWith('utf-16') || (a === 0xef && b === 0xbb && c === 0xbf);
  return { text: decoderOf(encoding)(bytes, true), encoding, mark };
}

/** The bytes of a text in the file's encoding, or `undefined` when it has signs that the encoding lacks. */
export function encodeFile({ text, encoding, mark }: TextFile): Buffer | undefined {
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(mark ? `\uFEFF${text}` : text, 'utf8');
    case 'utf-16le':
      return Buffer.from(`\uFEFF${text}`, 'utf16le');
    case 'utf-16be':
      return Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();
    case 'latin1':
      return /[^\0-\xFF]/.test(text) ? undefined : Buffer.from(text, 'latin1');
    case 'gb18030':
      return undefined;
  }
}
