import { type ErrorCode, ReasonixError } from '../core/errors.ts';
import { clipStart } from '../core/text.ts';
import { maskSecrets } from './secrets.ts';

/** What an adapter knows about its provider when a call fails. */
export interface ProviderErrorContext {
  provider: string;
  model?: string | undefined;
  /** Name of the variable that holds the key, for the hint. */
  keyVariable?: string | undefined;
  baseUrl?: string | undefined;
  /** Values that must not appear in any text. */
  secrets?: readonly string[] | undefined;
  /** What the stream had brought before it broke. */
  partialText?: string | undefined;
  now?: number | undefined;
}

/** A failure as every wire has it. Without a status it was the connection or the stream. */
interface Failure {
  status: number | undefined;
  message: string;
  headers: Headers | undefined;
  type: string;
  /** Type, code and message: some vendors tell what went wrong by the code alone. */
  said: string;
  /** Our own mistake, or a user's: no server had a part in it, and it would be made again. */
  isBug: boolean;
}

/** What `fetch` throws when a connection cannot be made or breaks is a TypeError, too. */
const CONNECTION = /terminated|fetch failed|network|socket|other side closed/i;

/** Statuses that a server gives for a state that passes. 529 is Anthropic's "overloaded". */
const PASSING_STATUSES = new Set([408, 409, 425, 429]);

/** Errors that arrive inside a stream, after a 200: their type stands for the status they would have had. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  overloaded_error: 529,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  timeout_error: 504,
  api_error: 500,
  server_error: 500,
  internal_error: 500,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  invalid_request_error: 400,
  context_length_exceeded: 400,
  invalid_prompt: 400,
  model_not_found: 404,
  insufficient_quota: 429,
  slow_down: 429,
  server_is_overloaded: 503,
};

const CONTEXT_LENGTH = new RegExp(
  [
    'context[_ ](?:length|window|size|limit)|request_too_large|prompt is too long|input is too long',
    'too many (?:input )?tokens|maximum (?:input )?(?:context|token)|maximum (?:prompt|model) length',
    'exceeds? the (?:available|maximum) context',
    // Gemini, Copilot, Moonshot, Z.ai, Qwen, Groq
    'token count.{0,40} exceeds|exceeded model token limit|prompt exceeds max length|range of input length',
    'reduce the length of the (?:messages|prompt|input)',
  ].join('|'),
  'i',
);

/** A 400 about a field that the server does not know, or about the length of the answer alone: a shorter request gets it, too. */
const OF_FIELD = /(?:unsupported|unknown|unrecognized|unexpected) \w*(?:parameter|argument|field)/i;
const OF_ANSWER = /max(?:_completion|_output|_new)?_tokens/i;
const OF_REQUEST = /context|prompt|input|messages/i;

/** A 429 that no waiting cures. One that recommends a page about billing is not among them. */
const QUOTA = /insufficient_quota|exceeded your current quota|credit balance|billing_|payment required/i;

/** A 429 for one request that is larger than what a minute allows. */
const TOO_LARGE = /request too large/i;

/** Characters of what a server said at most: some send pages. */
const LONGEST_MESSAGE = 2_000;

/** The error of a failed attempt: a stable code, a text without secrets, and whether another attempt may help. */
export function providerError(error: unknown, context: ProviderErrorContext): ReasonixError {
  if (ReasonixError.isInstance(error)) return error;
  const failure = failureOf(error);
  const { status, type, headers } = failure;
  const text = clipped(maskSecrets(failure.message, context.secrets));
  const code = codeOf(failure);
  const details: Record<string, unknown> = {
    provider: context.provider,
    retryable: isRetryable(failure, code),
    ...(status === undefined ? {} : { status }),
    ...(type === '' ? {} : { type }),
  };
  const wait = retryAfter(headers, context.now ?? Date.now());
  if (wait !== undefined) details.retryAfter = wait;
  const requestId = headers?.get('request-id') ?? headers?.get('x-request-id');
  if (requestId) details.requestId = requestId;
  if (context.partialText) details.partialText = context.partialText;
  const where = status === undefined ? context.provider : `${context.provider} answered ${status}`;
  return new ReasonixError(code, `${where}: ${text}`, { hint: hintOf(code, failure, context), details });
}

const clipped = (text: string): string =>
  text.length > LONGEST_MESSAGE ? `${clipStart(text, LONGEST_MESSAGE)} …` : text;

/** The error of a call that was stopped; what had arrived is kept. */
export function cancelledError(signal: AbortSignal, partialText?: string): ReasonixError {
  const { reason } = signal;
  if (ReasonixError.isInstance(reason, 'cancelled') && !partialText) return reason;
  const said =
    reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'the model call was cancelled';
  return new ReasonixError('cancelled', said, {
    details: { retryable: false, ...(partialText ? { partialText } : {}) },
  });
}

/** A stream that ended before its end was announced. */
export class CutStream extends Error {
  constructor(what = 'the stream ended in the middle of the answer') {
    super(what);
    this.name = 'CutStream';
  }
}

/** Milliseconds to wait, by `retry-after-ms` or `retry-after` (seconds or an HTTP date). */
export function retryAfter(headers: Headers | undefined, now: number): number | undefined {
  const milliseconds = Number.parseFloat(headers?.get('retry-after-ms') ?? '');
  if (milliseconds >= 0) return milliseconds;
  const value = headers?.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+(?:\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function failureOf(error: unknown): Failure {
  const thrown = (typeof error === 'object' && error !== null ? error : {}) as {
    status?: unknown;
    headers?: unknown;
    error?: unknown;
  };
  const body = bodyOf(thrown.error);
  const type = String(body.type ?? body.code ?? '');
  const code = Number(body.code);
  const numericCode = code >= 400 && code < 600 ? code : undefined;
  const status = typeof thrown.status === 'number' ? thrown.status : (numericCode ?? statusOfType(body));
  const message = typeof body.message === 'string' && body.message !== '' ? body.message : textOf(error);
  return {
    status,
    type,
    said: [type, body.code, message].join(' '),
    isBug: isBug(error),
    headers: thrown.headers instanceof Headers ? thrown.headers : undefined,
    message,
  };
}

function isBug(error: unknown): boolean {
  if (error instanceof RangeError || error instanceof ReferenceError) return true;
  return error instanceof TypeError && !CONNECTION.test(error.message);
}

function statusOfType(body: { type?: unknown; code?: unknown }): number | undefined {
  for (const name of [body.type, body.code]) {
    if (typeof name === 'string' && Object.hasOwn(STATUS_OF_TYPE, name)) return STATUS_OF_TYPE[name];
  }
  return undefined;
}

/** OpenAI's SDK hands over the inner `error` object, Anthropic's the whole body around it. */
function bodyOf(value: unknown): { type?: unknown; code?: unknown; message?: unknown } {
  if (typeof value !== 'object' || value === null) return {};
  const inner = (value as { error?: unknown }).error;
  return typeof inner === 'object' && inner !== null ? inner : value;
}

/** `fetch failed` says nothing; its cause does. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : (JSON.stringify(error) ?? 'unknown error');
  const texts: string[] = [];
  for (let current: unknown = error; current instanceof Error && texts.length < 4; current = current.cause) {
    const { code } = current as { code?: unknown };
    const message = current.message || (typeof code === 'string' ? code : current.name);
    if (!texts.some((text) => text.includes(message))) texts.push(message);
  }
  return texts.join(': ');
}

/** LM Studio says it in the stream, without a code; a connection that breaks never says it. */
function isTooLong({ status, said }: Failure): boolean {
  if (status !== 400 && status !== 422 && status !== undefined) return false;
  if (!CONTEXT_LENGTH.test(said) || OF_FIELD.test(said)) return false;
  return !OF_ANSWER.test(said) || OF_REQUEST.test(said);
}

function codeOf(failure: Failure): ErrorCode {
  const { status, type, message } = failure;
  if (status === 413 || isTooLong(failure)) return 'context_length';
  if (status === undefined) return 'provider';
  if (status === 401 || status === 403) return 'provider_auth';
  if (status === 429 && TOO_LARGE.test(message)) return 'context_length';
  if (status === 404 && /model/i.test(`${type} ${message}`)) return 'model_not_found';
  if (status === 402 || (status === 429 && QUOTA.test(`${type} ${message}`))) return 'provider';
  return status === 429 || status === 503 || status === 529 ? 'provider_overloaded' : 'provider';
}

function isRetryable({ status, type, message, headers, isBug }: Failure, code: ErrorCode): boolean {
  if (isBug || code === 'context_length') return false;
  if (headers?.get('x-should-retry') === 'false') return false;
  if (status === undefined) return true;
  if (status === 429 && code !== 'provider_overloaded') return false;
  return PASSING_STATUSES.has(status) || status >= 500 || (status === 400 && /overloaded/i.test(`${type} ${message}`));
}

function hintOf(
  code: ErrorCode,
  { status, message, isBug }: Failure,
  context: ProviderErrorContext,
): string | undefined {
  const server = context.baseUrl === undefined ? 'the server' : maskSecrets(context.baseUrl, context.secrets);
  switch (code) {
    case 'provider_auth':
      return context.keyVariable
        ? `check the key in the environment variable ${context.keyVariable}`
        : `set api_key_env of the provider ${context.provider} to the name of the variable that holds its key`;
    case 'context_length':
      return 'shorten the conversation, or use a model with a larger context window';
    case 'model_not_found':
      return `check the name ${context.model ?? 'of the model'}, and which models ${server} has`;
    case 'provider_overloaded':
      return 'try again later, or lower the number of sub-agents that run at once';
    default:
      if (QUOTA.test(message)) return 'the account has no credit left: check its plan and billing';
      if (isBug) return undefined;
      if (status === undefined) return `check that ${server} can be reached`;
      if (status >= 300 && status < 400) return 'set base_url to the address that answers itself';
      return status === 404 ? `check base_url: ${server} does not know the path` : undefined;
  }
}
