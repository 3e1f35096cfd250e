import { setTimeout as delay } from 'node:timers/promises';
import type { StoredEvent } from '../core/events.ts';
import { canFollow, type SessionStore } from '../store/contract.ts';
import { HttpProblem } from './problem.ts';

export interface StreamOptions {
  session: string;
  /** Events after this number. */
  from: number;
  /** Ends the stream. */
  signal: AbortSignal;
  /** Milliseconds without an event until a line says that the server is there. */
  heartbeat: number;
  onError(error: unknown): void;
}

/**
 * Events of a session, those that there are and those to come, as server-sent events: each one's id is its
 * number. Ends with the reader, or with the signal. @throws HttpProblem 501 for a store that tells nothing.
 */
export function eventStream(store: SessionStore, options: StreamOptions): Response {
  if (!canFollow(store)) throw new HttpProblem(501, 'no_following', 'logs of this store cannot be followed');
  const { session, from, heartbeat, onError } = options;
  const gone = new AbortController();
  const signal = AbortSignal.any([options.signal, gone.signal]);
  const chunks = lines(store.follow(session, from, signal), session, { heartbeat, signal });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    // Nothing is read for a reader that is slower than the log.
    async pull(controller) {
      try {
        const { value, done } = await chunks.next();
        if (gone.signal.aborted) return;
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        onError(error);
        gone.abort();
        controller.error(error);
      }
    },
    async cancel() {
      gone.abort();
      await chunks.return();
    },
  });
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
  return new Response(body, { headers });
}

async function* lines(
  events: AsyncIterable<StoredEvent>,
  session: string,
  { heartbeat, signal }: { heartbeat: number; signal: AbortSignal },
): AsyncGenerator<string, void, void> {
  // Says at once that it follows, also where there is nothing yet, and when to come back to a server that went away.
  yield 'retry: 1000\n: follows\n\n';
  const iterator = events[Symbol.asyncIterator]();
  try {
    let next = iterator.next();
    while (!signal.aborted) {
      const quiet = new AbortController();
      const silence = delay(heartbeat, 'silence' as const, { signal: quiet.signal, ref: false }).catch(
        () => 'silence' as const,
      );
      const first = await Promise.race([next, silence, aborted(signal, quiet.signal)]);
      quiet.abort();
      if (signal.aborted) return;
      if (first === 'silence') {
        yield ': \n\n';
        continue;
      }
      if (first === 'aborted' || first.done) return;
      const { value } = first;
      yield `id: ${value.seq}\ndata: ${JSON.stringify({ session, ...value })}\n\n`;
      next = iterator.next();
    }
  } finally {
    // Waits for a look that goes on, which ends with the signal.
    await iterator.return?.();
  }
}

function aborted(signal: AbortSignal, over: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve('aborted'), { once: true, signal: over });
  });
}
