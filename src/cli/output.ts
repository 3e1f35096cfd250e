import { columnsOf } from './terminal.ts';

/** Data goes to stdout. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Everything that is no data goes to stderr. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** JSON for people and programs; U+2028 and U+2029 escaped, since some readers take them as line ends. */
export const printJson = (value: unknown): void => print(escapeSeparators(JSON.stringify(value, null, 2)));

/** One line of JSON. */
export const jsonLine = (value: unknown): string => `${escapeSeparators(JSON.stringify(value))}\n`;

const escapeSeparators = (json: string): string => json.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');

/** Columns that data may take: a terminal's, or what `COLUMNS` says; none for a pipe. */
export function dataColumns(): number | undefined {
  if (!process.stdout.isTTY && !process.env.COLUMNS) return undefined;
  return columnsOf(process.stdout);
}
