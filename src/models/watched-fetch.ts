import { CutStream } from './provider-error.ts';

/** Milliseconds without a byte after which a stream is given up. */
export const DEFAULT_IDLE_TIMEOUT = 300_000;

const WATCH = Symbol('watch');

/**
 * A `fetch` for an SDK client. One client serves many calls, and making one for each would cost more
 * than the rest of a request; the watch of a call rides on its options.
 */
export async function watchedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  const watch = (init as { [WATCH]?: Watch } | undefined)?.[WATCH];
  return watch ? watch.watched(response) : response;
}

/**
 * Watches one call: `signal` aborts with the caller's, and when nothing has arrived for too long.
 * Bytes count, not events: a server's keep-alive comments never reach the reader of a stream.
 */
export class Watch {
  readonly #controller = new AbortController();
  readonly #timeout: number;
  readonly #outer: AbortSignal;
  #timer: NodeJS.Timeout | undefined;
  #silent: CutStream | undefined;

  constructor(outer: AbortSignal, timeout: number) {
    this.#outer = outer;
    this.#timeout = timeout;
    if (outer.aborted) this.#stop();
    else outer.addEventListener('abort', this.#stop, { once: true });
    this.touch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Set when the stream was given up as silent. */
  get silent(): CutStream | undefined {
    return this.#silent;
  }

  /** Something arrived. */
  touch(): void {
    if (this.#timer) {
      this.#timer.refresh();
    } else {
      this.#timer = setTimeout(() => {
        this.#silent = new CutStream(`nothing arrived for ${this.#timeout / 1000} s`);
        this.#controller.abort(this.#silent);
      }, this.#timeout);
    }
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#stop);
  }

  /** What an SDK call is given as `fetchOptions`, so that `watchedFetch` finds its way here. */
  get fetchOptions(): { keepalive?: boolean } {
    return { [WATCH]: this } as { keepalive?: boolean };
  }

  watched(response: Response): Response {
    this.touch();
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(this.#watched(response.body), { status, statusText, headers });
  }

  #watched(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        this.touch();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }

  readonly #stop = (): void => this.#controller.abort(this.#outer.reason);
}
