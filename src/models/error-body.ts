import { isObject } from '../core/is-object.ts';
import type { Bytes } from './answer.ts';

/** More than any error says that is meant to be read. */
const MOST_BYTES = 65_536;

/**
 * The response of an error with a body in the one shape that the SDKs read, `{ error: { message } }`. Servers
 * have others (`message` or `detail` at the top, a list around it), of which an SDK says "no body": neither
 * a user nor the rule for requests that are too long would learn anything. No more is read than needed.
 */
export async function readableError(response: Response, bytes: Bytes): Promise<Response> {
  const { status, statusText } = response;
  const headers = new Headers(response.headers);
  // They were about the bytes on the line.
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) headers.delete(name);
  const text = await startOf(bytes);
  const error = errorOf(text);
  if (!error) return new Response(text, { status, statusText, headers });
  headers.set('content-type', 'application/json');
  return new Response(JSON.stringify({ error }), { status, statusText, headers });
}

/** A body that breaks off has said what it could: the status counts. */
async function startOf(bytes: Bytes): Promise<string> {
  const parts: Uint8Array[] = [];
  try {
    for (let length = 0; length < MOST_BYTES; ) {
      const { done, value } = await bytes.next();
      if (done) return new TextDecoder().decode(Buffer.concat(parts));
      length += value.length;
      parts.push(value);
    }
    await bytes.return();
  } catch {
    // whoever stopped it says so
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

function errorOf(text: string): Record<string, unknown> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const body = isObject(value) ? value : Array.isArray(value) && isObject(value[0]) ? value[0] : undefined;
  if (!body) return undefined;
  const inner = isObject(body.error) ? body.error : body;
  const { error, message = error, detail = message } = inner;
  const said = [message, detail].find((each) => typeof each === 'string' && each !== '');
  return { ...inner, message: said ?? listed(detail) ?? JSON.stringify(detail ?? inner) };
}

/** FastAPI's list repeats what was sent, which may be a text about too long a context that some tool has read. */
function listed(detail: unknown): string | undefined {
  if (!Array.isArray(detail) || detail.length === 0) return undefined;
  const parts = detail.map((each) => (isObject(each) && typeof each.msg === 'string' ? each : undefined));
  if (parts.includes(undefined)) return undefined;
  return parts.map((each) => `${Array.isArray(each?.loc) ? `${each.loc.join('.')}: ` : ''}${each?.msg}`).join('; ');
}
