import { readFileSync } from 'node:fs';

/**
 * The text of a file that is plainly UTF-8, with its mark if it has one; else its bytes, for `decode`
 * to find out. Reading text is what Node does fastest. @throws the file system's error.
 */
export function readSource(file: string): Uint8Array | string {
  const text = readFileSync(file, 'utf8');
  return /[\0\uFFFD]/.test(text) ? readFileSync(file) : text;
}
