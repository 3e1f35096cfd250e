/** More than this of a file is not searched. */
const LARGEST_TEXT = 1_000_000;

/** Nothing for a picture, a font and the like. */
export function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.length > LARGEST_TEXT || bytes.subarray(0, 8_192).includes(0)) return undefined;
  return Buffer.from(bytes).toString('utf8');
}
