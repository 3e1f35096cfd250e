import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import { isObject } from '../../core/is-object.ts';
import { clipGraphemes, oneLine } from '../../core/text.ts';
import { systemCode } from '../tool-problem.ts';
import { readBytes } from './bounded-body.ts';
import { jsonIn } from './message.ts';

/** Most that is read of an error's body, in bytes, for how long, in milliseconds, and shown of it, in graphemes. */
const MOST_READ = 64 * 1024;
const READ_TIME = 2_000;
const MOST_SHOWN = 300;

/** What was wrong with a request to a server, and what to do about it. */
export class HttpProblem extends Error {
  /** The server knows nothing of our session, so that it did not run the request. */
  readonly isSessionLost: boolean;

  constructor(message: string, { isSessionLost = false, cause }: { isSessionLost?: boolean; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'HttpProblem';
    this.isSessionLost = isSessionLost;
  }
}

/** A redirect that is not followed: the address it led to is for people, without what only a program needs of it. */
export function redirectProblem(status: number, to: URL | undefined): HttpProblem {
  if (to === undefined) return new HttpProblem(`it answered ${status}, a redirect to no address: check its url`);
  const address = `${to.origin === 'null' ? to.protocol : to.origin}${to.pathname}`;
  return new HttpProblem(
    `it redirects to ${address}, which is not followed: set its url to that address if you trust it`,
  );
}

/** Why a request was refused, from its status and what is readable of its body. */
export async function statusProblem(response: Response, hasSession: boolean): Promise<HttpProblem> {
  const { status, headers } = response;
  const said = await reasonIn(response);
  const isSessionLost = hasSession && (status === 404 || (status === 400 && /session/i.test(said)));
  const text = said === '' ? '' : ` (${said})`;
  const message = isSessionLost
    ? `it answered ${status}${text}: it no longer knows this connection`
    : `it answered ${status}${text}: ${adviceFor(status, headers)}`;
  return new HttpProblem(message, { isSessionLost });
}

function adviceFor(status: number, headers: Headers): string {
  if (status === 401) {
    const isSignIn = /resource_metadata/i.test(headers.get('www-authenticate') ?? '');
    return isSignIn
      ? 'it wants a sign-in (OAuth), which is not offered here: make a token at its site and send it with headers.Authorization'
      : 'it wants to know who asks: set headers, such as Authorization, to a key that it knows';
  }
  if (status === 403) return 'what its headers send does not permit this: check the key and what it may do';
  if (status === 404 || status === 410)
    return 'no MCP server is at this address: check its url, which often ends in /mcp';
  if (status === 405)
    return 'it takes no messages at this address: check its url; one that speaks only SSE cannot be used';
  if (status === 406 || status === 415) return 'it does not take what MCP sends: check its url';
  if (status === 407) return 'a proxy on the way wants to know who asks';
  if (status === 429) return 'it is asked too often: try again later';
  if (status >= 500) return 'the fault is on its side: try again later';
  return 'check its url and headers';
}

/** The words that a body has for what was wrong. A page has none that help, and may be long. */
async function reasonIn(response: Response): Promise<string> {
  const type = mediaType(response);
  const isReadable = type === '' || type === 'text/plain' || /[/+]json$/.test(type);
  if (!response.body || !isReadable) {
    await response.body?.cancel().catch(() => {});
    return '';
  }
  // one that sends its body drop by drop must not keep its status to itself
  const late = delay(READ_TIME, undefined, { ref: false });
  const bytes = await Promise.race([readBytes(response.body, MOST_READ).catch(() => undefined), late]);
  const text = bytes === undefined ? '' : bytes.toString('utf8');
  const value = jsonIn(text);
  const words = wordsIn(value) ?? (isObject(value) || /^\s*</.test(text) ? '' : text);
  return clipGraphemes(oneLine(words.toWellFormed()), MOST_SHOWN);
}

/** Where servers and gateways put the reason: JSON-RPC's error, OAuth's, and those of frameworks. */
function wordsIn(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  const { error, error_description: description, message, detail, title } = value;
  const candidates = [isObject(error) ? error.message : undefined, description, message, error, detail, title];
  return candidates.find((each): each is string => typeof each === 'string' && each !== '');
}

export const mediaType = ({ headers }: Response): string =>
  (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';

const CONNECTION: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there: start it, or check its url',
  ENOTFOUND: 'its host was not found: check its url',
  EAI_AGAIN: 'its host could not be looked up: check the network',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ETIMEDOUT: 'no answer came: check its url and the network',
  UND_ERR_CONNECT_TIMEOUT: 'no answer came: check its url and the network',
  EHOSTUNREACH: 'its host cannot be reached: check its url and the network',
  ENETUNREACH: 'its network cannot be reached: check its url and the network',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too long: check its url',
  EPROTO: 'it speaks no TLS there: check whether its url begins with http://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it speaks no TLS there: check whether its url begins with http://',
};

/** Why no answer came: `fetch` itself only says that it failed. */
export function connectionProblem(error: unknown): HttpProblem {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = systemCode(cause) ?? '';
  const words = oneLine(messageOf(cause));
  const message =
    CONNECTION[code] ??
    (code.startsWith('HPE_') ? `what answers there is no HTTP (${words}): check its url` : undefined) ??
    (/CERT|SIGNATURE/.test(code)
      ? `its certificate is not accepted (${words}): name the authority that it is from in NODE_EXTRA_CA_CERTS`
      : `it could not be asked: ${words}`);
  return new HttpProblem(message, { cause: error });
}
