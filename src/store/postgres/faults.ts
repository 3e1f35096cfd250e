import { messageOf, ReasonixError } from '../../core/errors.ts';

/** The server is away, starting, stopping, or dropped what it was doing: the same may work in a moment. */
const OUTAGE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // SQLSTATE: admin_shutdown, crash_shutdown, cannot_connect_now, too_many_connections,
  // serialization_failure, deadlock_detected, and class 08, connection exceptions.
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '40001',
  '40P01',
  '08000',
  '08001',
  '08003',
  '08004',
  '08006',
]);

/** What the driver says without a code when a connection goes. */
const OUTAGE_TEXT = /connection terminated|timeout exceeded when trying to connect|connection timeout|not queryable/i;

export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && OUTAGE_CODES.has(code)) return true;
  if (error instanceof AggregateError) return error.errors.some(isOutage);
  return OUTAGE_TEXT.test(error.message);
}

/** An error of the driver in words of ours; the URL, which may hold a password, is never part of it. */
export function storeFault(error: unknown): ReasonixError {
  const { code } = error as { code?: unknown };
  if (code === '53100') {
    return new ReasonixError('store_full', 'the disk of the Postgres server is full', {
      hint: 'make room on the server; what was logged before is kept',
      cause: error,
    });
  }
  if (isOutage(error)) {
    return new ReasonixError('store', `Postgres cannot be reached: ${reasonOf(error)}`, {
      hint: 'check that the server runs, and store.url; sessions go on from their logs when it is back',
      cause: error,
    });
  }
  return new ReasonixError('store', `Postgres refused: ${messageOf(error)}`, {
    hint: 'check store.url, its user and its rights',
    cause: error,
  });
}

function reasonOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return messageOf(first) || String((first as { code?: unknown }).code);
}
