import { decode } from '../decode.ts';

export interface EncodedText {
  /** Without a byte order mark. */
  text: string;
  /** Another text in the encoding of the file, with its mark if it had one. */
  encode(text: string): Buffer;
}

/** The text of a file that can be written back byte for byte; `undefined` for every other. */
export function readEncoded(bytes: Uint8Array): EncodedText | undefined {
  const { text, encoding, lossy } = decode(bytes);
  if (lossy || encoding === 'gb18030') return undefined;
  const plain = (each: string): Buffer => encodeAs(each, encoding);
  const marked = (each: string): Buffer => encodeAs(`\uFEFF${each}`, encoding);
  const encode = [plain, marked].find((each) => each(text).equals(bytes));
  return encode === undefined ? undefined : { text, encode };
}

function encodeAs(text: string, encoding: 'utf-8' | 'utf-16le' | 'utf-16be'): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text, 'utf8');
  const bytes = Buffer.from(text, 'utf16le');
  return encoding === 'utf-16be' ? bytes.swap16() : bytes;
}
