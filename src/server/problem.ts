import { type ErrorCode, messageOf, ReasonixError } from '../core/errors.ts';

/** An answer that refuses a request. `code` is stable. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(status: number, code: string, message: string, hint?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  usage: 400,
  session_not_found: 404,
  session_busy: 409,
  session_newer: 409,
  stale_writer: 409,
  reference_busy: 409,
  worktree: 409,
  cancelled: 409,
  model_not_found: 422,
  skill_not_found: 422,
  skill_refused: 422,
  skill_invalid: 422,
  engine: 503,
  store: 503,
};

/** What a client is told about anything that was thrown. */
export function problemOf(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (!ReasonixError.isInstance(error)) return new HttpProblem(500, 'internal', messageOf(error));
  return new HttpProblem(STATUS[error.code] ?? 500, error.code, error.message, error.hint);
}

export function problemJson({ status, code, message, hint }: HttpProblem): Response {
  return Response.json({ error: { code, message, hint: hint ?? null } }, { status });
}

/** For people who look at a page. */
export function problemText({ status, message, hint }: HttpProblem): Response {
  return new Response(`${message}\n${hint === undefined ? '' : `${hint}\n`}`, {
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  });
}
