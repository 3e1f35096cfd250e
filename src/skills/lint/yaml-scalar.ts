import { foldLines } from '../recover-text.ts';

/** Signs that YAML does not allow as they are, or that some reader takes for a line end. */
const UNPRINTABLE = /[\0-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]/;

/** A text in quotes, on one line, that every YAML reader takes for exactly this text. */
export function quotedScalar(text: string): string {
  const plain = !UNPRINTABLE.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ''));
  if (plain && !/["\\]/.test(text)) return `"${text}"`;
  if (plain) return `'${text.replaceAll("'", "''")}'`;
  return JSON.stringify(text).replace(
    /[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * The lines of a value as a folded block, so that a long text keeps its lines; `undefined` when they
 * would not fold to the same text.
 */
export function foldedBlock(lines: readonly string[], text: string): string[] | undefined {
  const trimmed = lines.map((line) => line.trim());
  if (trimmed.length < 2 || foldLines(trimmed) !== text || UNPRINTABLE.test(trimmed.join(''))) return undefined;
  const from = trimmed.findIndex((line) => line !== '');
  return ['>-', ...trimmed.slice(from).map((line) => (line === '' ? '' : `  ${line}`))];
}
