import { isUtf8 } from 'node:buffer';

export interface Decoded {
  text: string;
  encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'gb18030';
  /** Signs that no encoding explains; each stands as U+FFFD in the text. */
  lossy: boolean;
}

/**
 * The text of a skill file, without its byte order mark. UTF-8 unless the bytes say otherwise: UTF-16
 * by its mark or by the zero bytes around the first dashes, GB18030 when the bytes are no UTF-8 but
 * are good GB18030. Never throws.
 */
export function decode(bytes: Uint8Array): Decoded {
  const utf16 = utf16Order(bytes);
  if (utf16 !== undefined) return decodeUtf16(bytes, utf16);
  if (isUtf8(bytes)) return { text: withoutMark(utf8(bytes)), encoding: 'utf-8', lossy: false };
  return decodeLegacy(bytes);
}

function decodeUtf16(bytes: Uint8Array, encoding: 'utf-16le' | 'utf-16be'): Decoded {
  const text = new TextDecoder(encoding).decode(bytes);
  return { text: withoutMark(text), encoding, lossy: text.includes('\uFFFD') };
}

/** A file of good UTF-8 with a few broken bytes stays UTF-8: reading it as GB18030 would garble all of it. */
function decodeLegacy(bytes: Uint8Array): Decoded {
  const asUtf8 = withoutMark(utf8(bytes));
  const broken = asUtf8.split('\uFFFD').length - 1;
  const good = asUtf8.match(/[^\0-\x7F\uFFFD]/g)?.length ?? 0;
  if (good < broken) {
    const text = decodeGb18030(bytes);
    if (text !== undefined) return { text, encoding: 'gb18030', lossy: false };
  }
  return { text: asUtf8, encoding: 'utf-8', lossy: true };
}

function decodeGb18030(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('gb18030', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function utf16Order(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  const dash = 0x2d;
  if (a === dash && b === 0 && c === dash && d === 0) return 'utf-16le';
  if (a === 0 && b === dash && c === 0 && d === dash) return 'utf-16be';
  return undefined;
}

const utf8 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

/** The text without a byte order mark. */
export const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
