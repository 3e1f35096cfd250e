import { INTERNAL_ERROR, LONGEST_MESSAGE, TOO_LONG } from './message.ts';

/** A body, of which no more than `most` bytes are read. @throws when it is longer */
export async function readBytes(body: ReadableStream<Uint8Array>, most: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // leaving the loop cancels the rest
  for await (const part of body as unknown as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > most) throw new Error(TOO_LONG);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

export interface EventStreamOptions {
  /** Whose answer the stream is there for; none for the one that the server speaks on by itself. */
  request: string | number | undefined;
  onFlood: () => void;
}

/**
 * A stream of events, ended at a message that is too long. One that ends before it has answered would let
 * the SDK wait for all of the call's time: then an answer is put at its end that says so. The SDK passes
 * over a second answer, and resumes streams that name their events itself.
 */
export function boundedEvents(
  body: ReadableStream<Uint8Array>,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
  const { request, onFlood } = options;
  const reader = body.getReader();
  const sizes = new EventSizes();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const end = (message: string, isFinal: boolean): void => {
        if (request !== undefined && (isFinal || !sizes.canResume)) {
          controller.enqueue(failure(request, message));
          controller.close();
        } else if (isFinal || message === CUT) controller.error(new Error(message));
        else controller.close();
      };
      try {
        const { done, value } = await reader.read();
        if (done) return end('its answer ended without a result', false);
        sizes.take(value);
        if (sizes.current <= LONGEST_MESSAGE) return controller.enqueue(value);
      } catch {
        return end(CUT, false);
      }
      onFlood();
      end(TOO_LONG, true);
      await reader.cancel().catch(() => {});
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const CUT = 'the connection was cut before the answer was whole';

/** An event of its own, whatever the stream was in the middle of. */
function failure(id: string | number, message: string): Uint8Array {
  const answer = { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } };
  return Buffer.from(`\n\ndata: ${JSON.stringify(answer)}\n\n`);
}

/** An event ends with an empty line, in any of three ways to end a line. */
const EVENT_ENDS = ['\n\n', '\r\n\r\n', '\r\r'];

class EventSizes {
  /** Bytes of the event that has not ended yet. */
  current = 0;
  /** Whether an event had a name from which a client can go on. */
  canResume = false;
  /** What ends an event, or begins a field, may stand in two parts. */
  #tail = Buffer.from('\n');

  take(part: Uint8Array): void {
    const seen = Buffer.concat([this.#tail, part]);
    this.canResume ||= /[\r\n]id:/.test(seen.toString('latin1'));
    const ends = EVENT_ENDS.map((end) => seen.lastIndexOf(end) + end.length).filter(
      (at, n) => at >= EVENT_ENDS[n]!.length,
    );
    const last = Math.max(0, ...ends);
    this.current = last > this.#tail.length ? seen.length - last : this.current + part.length;
    this.#tail = Buffer.from(seen.subarray(-4));
  }
}
