import { CutStream } from './provider-error.ts';

/** An answer as a server gave it: events of a stream, or all of it as one JSON object. */
export type Answer = { events: Response } | { whole: Record<string, unknown> };

const OPEN_BRACE = 0x7b;

/** White space of JSON, and the three bytes of a byte order mark. */
const IGNORED = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

/**
 * What a response holds, by its first character: servers answer `stream: true` with JSON and
 * `stream: false` with a stream, and call the one by the media type of the other.
 * @throws CutStream for JSON that is not whole.
 */
export async function answerOf(response: Response): Promise<Answer> {
  if (!response.body || /event-stream/i.test(response.headers.get('content-type') ?? '')) return { events: response };
  const reader: Reader = response.body.getReader();
  const parts: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { events: rejoined(response, parts, reader) };
    parts.push(value);
    const first = value.find((byte) => !IGNORED.has(byte));
    if (first === undefined) continue;
    return first === OPEN_BRACE
      ? { whole: await wholeOf(parts, reader) }
      : { events: rejoined(response, parts, reader) };
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

async function wholeOf(parts: Uint8Array[], reader: Reader): Promise<Record<string, unknown>> {
  for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
  try {
    return JSON.parse(new TextDecoder().decode(Buffer.concat(parts))) as Record<string, unknown>;
  } catch {
    throw new CutStream('the answer is no whole JSON');
  }
}

/** The response as it was before its first bytes were read. */
function rejoined(response: Response, parts: Uint8Array[], reader: Reader): Response {
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const part = parts.shift();
      if (part) return controller.enqueue(part);
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, { headers: response.headers });
}

/** What went wrong by the word of an answer that came with status 200, in the shape of the SDKs' errors. */
export function errorIn({ error }: Record<string, unknown>): Error | undefined {
  if (error === undefined || error === null || error === false) return undefined;
  const body = typeof error === 'object' ? (error as { message?: unknown }) : { message: String(error) };
  const said = typeof body.message === 'string' && body.message !== '' ? body.message : JSON.stringify(error);
  return Object.assign(new Error(said), { error: body });
}
