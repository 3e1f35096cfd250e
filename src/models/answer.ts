import { CutStream } from './provider-error.ts';

/** An answer as a server gave it: events of a stream, or all of it as one JSON object. */
export type Answer = { events: Response } | { whole: Record<string, unknown> };

const OPEN_BRACE = 0x7b;

/** White space of JSON, and the three bytes of a byte order mark. */
const IGNORED = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/**
 * What a response holds, by its first character: servers answer `stream: true` with JSON and
 * `stream: false` with a stream, and call the one by the media type of the other.
 * `bytesOf` reads its body.
 * @throws CutStream for JSON that is not whole.
 */
export async function answerOf(
  response: Response,
  bytesOf: (body: ReadableStream<Uint8Array>) => Bytes,
): Promise<Answer> {
  if (!response.body) return { events: response };
  const bytes = bytesOf(response.body);
  if (/event-stream/i.test(response.headers.get('content-type') ?? '')) return { events: withBody(response, bytes) };
  const parts: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await bytes.next();
    if (done) return { events: withBody(response, rejoined(parts, bytes)) };
    parts.push(value);
    const first = value.find((byte) => !IGNORED.has(byte));
    if (first === undefined) continue;
    return first === OPEN_BRACE
      ? { whole: await wholeOf(parts, bytes) }
      : { events: withBody(response, rejoined(parts, bytes)) };
  }
}

type Bytes = AsyncIterableIterator<Uint8Array>;

/** Body and headers are all that the decoders of the SDKs look at, and what they want of a body is its bytes. */
const withBody = ({ headers }: Response, body: AsyncIterable<Uint8Array>): Response =>
  ({ headers, body }) as unknown as Response;

async function wholeOf(parts: Uint8Array[], bytes: Bytes): Promise<Record<string, unknown>> {
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) parts.push(next.value);
  try {
    return JSON.parse(new TextDecoder().decode(Buffer.concat(parts))) as Record<string, unknown>;
  } catch {
    throw new CutStream('the answer is no whole JSON');
  }
}

/** A body as it was before its first bytes were read. */
async function* rejoined(parts: readonly Uint8Array[], rest: Bytes): AsyncGenerator<Uint8Array> {
  yield* parts;
  yield* rest;
}

/** What went wrong by the word of an answer that came with status 200, in the shape of the SDKs' errors. */
export function errorIn({ error }: Record<string, unknown>): Error | undefined {
  if (error === undefined || error === null || error === false) return undefined;
  const body = typeof error === 'object' ? (error as { message?: unknown }) : { message: String(error) };
  const said = typeof body.message === 'string' && body.message !== '' ? body.message : JSON.stringify(error);
  return Object.assign(new Error(said), { error: body });
}
