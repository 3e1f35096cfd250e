import { type ErrorCode, messageOf, ReasonixError } from '../core/errors.ts';
import { jsonLine, note } from './output.ts';
import { paintFor, printable } from './terminal.ts';

export const EXIT = { done: 0, failed: 1, usage: 2, limit: 3, noAnswer: 4, cancelled: 130 } as const;

const USAGE_CODES: readonly ErrorCode[] = [
  'usage',
  'config',
  'model_not_found',
  'provider_auth',
  'skill_not_found',
  'skill_invalid',
];

/** The exit code of an error that ends a command. */
export function exitCodeOf(error: unknown): number {
  if (!ReasonixError.isInstance(error)) return EXIT.failed;
  if (error.code === 'cancelled') return EXIT.cancelled;
  if (error.code === 'limit') return EXIT.limit;
  return USAGE_CODES.includes(error.code) ? EXIT.usage : EXIT.failed;
}

/** What went wrong and what to do about it, on stderr. */
export function reportError(error: unknown): void {
  const paint = paintFor(process.stderr);
  const known = ReasonixError.isInstance(error);
  const [first = '', ...more] = printable(messageOf(error)).split('\n');
  note(`${paint('red', 'reasonix:')} ${first}`);
  for (const line of more) note(`  ${line}`);
  if (known && error.hint) note(`  ${paint('dim', 'hint:')} ${printable(error.hint)}`);
  if (!known && error instanceof Error && error.stack && process.env.REASONIX_DEBUG) note(error.stack);
}

/** The same for programs, in the place of the data that did not come. */
function errorObject(error: unknown): { error: string; code: string; hint: string | null } {
  const known = ReasonixError.isInstance(error);
  return { error: messageOf(error), code: known ? error.code : 'internal', hint: (known && error.hint) || null };
}

export const reportErrorAsJson = (error: unknown): void => void process.stdout.write(jsonLine(errorObject(error)));
