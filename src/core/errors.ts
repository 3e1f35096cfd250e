const MARKER = Symbol.for('reasonix.error');

/** Stable codes of the errors that leave the library. */
export type ErrorCode =
  | 'usage'
  | 'config'
  | 'session_busy'
  | 'session_not_found'
  | 'session_invalid'
  | 'session_newer'
  | 'stale_writer'
  | 'store'
  | 'store_full'
  | 'store_corrupt'
  | 'engine'
  | 'model_not_found'
  | 'provider'
  | 'provider_auth'
  | 'provider_overloaded'
  | 'context_length'
  | 'context_overflow'
  | 'skill_not_found'
  | 'skill_refused'
  | 'skill_invalid'
  | 'reference_unknown'
  | 'reference_foreign'
  | 'reference_busy'
  | 'reference_skill'
  | 'worktree'
  | 'limit'
  | 'cancelled'
  | 'internal';

export interface ReasonixErrorOptions {
  cause?: unknown;
  /** What the reader can do about it, as one sentence. */
  hint?: string | undefined;
  details?: Record<string, unknown> | undefined;
}

/**
 * The one error class of the library. Check `code`, or use `ReasonixError.isInstance`, which also
 * holds when two copies of the package are loaded.
 */
export class ReasonixError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, options: ReasonixErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ReasonixError';
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
    Object.defineProperty(this, MARKER, { value: true });
  }

  static isInstance(value: unknown, code?: ErrorCode): value is ReasonixError {
    if (typeof value !== 'object' || value === null || !(MARKER in value)) return false;
    return code === undefined || (value as unknown as ReasonixError).code === code;
  }
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === 'string' ? error : (JSON.stringify(error) ?? String(error));
}

/** What was wrong, then what to do, as one text. */
export function describeError(error: unknown): string {
  const message = messageOf(error);
  const hint = ReasonixError.isInstance(error) ? error.hint : undefined;
  return hint ? `${message.replace(/[.;:]$/u, '')}. ${hint}` : message;
}

/** True for the error that an aborted signal throws, ours or the platform's. */
export function isCancellation(error: unknown): boolean {
  return ReasonixError.isInstance(error, 'cancelled') || (error instanceof Error && error.name === 'AbortError');
}
