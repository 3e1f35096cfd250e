import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { type Bytes, errorIn } from './answer.ts';
import { CutStream } from './provider-error.ts';

/** What an event holds, as servers really send it. */
export type Piece = Record<string, unknown>;

/** Events after which nothing comes, besides `[DONE]`. */
const LAST = new Set<unknown>(['message_stop', 'response.completed', 'response.incomplete', 'response.failed']);

/** Milliseconds that a stream has to close after its last event. A connection that was read to its end is used again. */
const CLOSING_TIME = 1_000;

/**
 * The pieces of an answer that is streamed, on every wire. The SDKs' readers differ from the standard where
 * servers and proxies make use of it: events without data keep a connection alive, names of events are left
 * out. And they wait for the connection to close, which some servers never do.
 * @throws what the server says went wrong; CutStream for an event that is no JSON.
 */
export async function* piecesOf(bytes: Bytes, headers: Headers): AsyncGenerator<Piece> {
  try {
    for await (const { event, data } of eventsOf(bytes)) {
      if (data.trim() === '') continue;
      if (data.startsWith('[DONE]')) return await closed(bytes);
      const piece = parsed(data, event);
      const error = errorIn(piece, headers);
      if (error) throw error;
      yield piece;
      if (LAST.has(piece.type)) return await closed(bytes);
    }
  } finally {
    giveUp(bytes);
  }
}

const giveUp = (bytes: Bytes): void => void bytes.return().catch(() => undefined);

async function* eventsOf(bytes: Bytes): AsyncGenerator<EventSourceMessage> {
  let events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  const decoder = new TextDecoder();
  for (let isDone = false; !isDone; ) {
    const next = await bytes.next();
    isDone = next.done === true;
    // The line that ends the last event may be missing.
    parser.feed(next.done ? `${decoder.decode()}\n\n` : decoder.decode(next.value, { stream: true }));
    const ready = events;
    events = [];
    yield* ready;
  }
}

function parsed(data: string, event: string | undefined): Piece {
  try {
    return (JSON.parse(data) ?? {}) as Piece;
  } catch {
    // Some say what went wrong in plain words.
    if (event === 'error') return { error: data };
    throw new CutStream('the stream holds an event that is no JSON');
  }
}

async function closed(bytes: Bytes): Promise<void> {
  const timer = setTimeout(giveUp, CLOSING_TIME, bytes);
  try {
    for (let isDone: boolean | undefined = false; !isDone; ) isDone = (await bytes.next()).done;
  } catch {
    // the answer is there
  } finally {
    clearTimeout(timer);
  }
}
