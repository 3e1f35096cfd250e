import { createHash } from 'node:crypto';

/** The first `length` hexadecimal digits of a text's SHA-256: the same for the same text, wherever it is asked for. */
export const shortHash = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length);
