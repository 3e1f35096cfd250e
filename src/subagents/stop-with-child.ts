import { type ErrorCode, ReasonixError } from '../core/errors.ts';
import type { LiveSession } from './live.ts';

/**
 * Errors of a log that cannot be written, or that somebody else writes, and of whoever is to run a child: they
 * say nothing about the work.
 */
const FAILURES: readonly ErrorCode[] = [
  'store',
  'store_full',
  'store_corrupt',
  'session_busy',
  'stale_writer',
  'engine',
];

/**
 * What a child could not log, or be started for, is no answer for its parent: the parent's turn stays open as well, and
 * whoever goes on with it goes on with the child.
 */
export function stopWithChild(parent: LiveSession, error: unknown): void {
  if (!ReasonixError.isInstance(error) || !FAILURES.includes(error.code)) return;
  parent.session.fatal ??= error;
}
