import { CutStream } from './provider-error.ts';

/** An answer as a server gave it: the bytes of a stream of events, or all of it as one JSON object. */
export type Answer = { events: Bytes } | { whole: Record<string, unknown> };

/** What is left of a body. `return` gives the rest up, also while bytes are awaited. */
export interface Bytes {
  next(): Promise<IteratorResult<Uint8Array, undefined>>;
  return(): Promise<unknown>;
}

/** `{`, and `[`: a list around an error. */
const OPENING = new Set<number | undefined>([0x7b, 0x5b]);

/** White space of JSON, and the three bytes of a byte order mark. */
const IGNORED = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/**
 * What a response holds, by its first character: servers answer `stream: true` with JSON and
 * `stream: false` with a stream, and call the one by the media type of the other.
 * `bytesOf` reads its body.
 * @throws CutStream for JSON that is not whole, or nothing.
 */
export async function answerOf(
  response: Response,
  bytesOf: (body: ReadableStream<Uint8Array>) => Bytes,
): Promise<Answer> {
  if (!response.body) throw new CutStream('the answer is empty');
  const bytes = bytesOf(response.body);
  if (/event-stream/i.test(response.headers.get('content-type') ?? '')) return { events: bytes };
  const parts: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await bytes.next();
    if (done) return { events: rejoined(parts, bytes) };
    parts.push(value);
    const first = value.find((byte) => !IGNORED.has(byte));
    if (first === undefined) continue;
    return OPENING.has(first) ? { whole: await wholeOf(parts, bytes) } : { events: rejoined(parts, bytes) };
  }
}

async function wholeOf(parts: Uint8Array[], bytes: Bytes): Promise<Record<string, unknown>> {
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) parts.push(next.value);
  try {
    const whole: unknown = JSON.parse(new TextDecoder().decode(Buffer.concat(parts)));
    return ((Array.isArray(whole) ? whole[0] : whole) ?? {}) as Record<string, unknown>;
  } catch {
    throw new CutStream('the answer is no whole JSON');
  }
}

/** A body as it was before its first bytes were read. */
function rejoined(parts: Uint8Array[], rest: Bytes): Bytes {
  return {
    next: async () => {
      const value = parts.shift();
      return value ? { done: false, value } : rest.next();
    },
    return: () => rest.return(),
  };
}

/** What went wrong by the word of an answer that came with status 200, in the shape of the SDKs' errors. */
export function errorIn({ error }: Record<string, unknown>, headers?: Headers): Error | undefined {
  if (error === undefined || error === null || error === false) return undefined;
  const body = typeof error === 'object' ? (error as { message?: unknown }) : { message: String(error) };
  const said = typeof body.message === 'string' && body.message !== '' ? body.message : JSON.stringify(error);
  return Object.assign(new Error(said), { error: body, headers });
}
