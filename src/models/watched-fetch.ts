import type { Bytes } from './answer.ts';
import { readableError } from './error-body.ts';
import { ownOriginFetch } from './own-origin-fetch.ts';
import { CutStream } from './provider-error.ts';

/** Milliseconds without a byte after which a stream is given up. */
export const DEFAULT_IDLE_TIMEOUT = 300_000;

/** Milliseconds that an answer which is not streamed may take to begin. */
export const DEFAULT_ANSWER_TIMEOUT = 1_800_000;

/** Milliseconds that the counts, and the end of the stream, may take after an answer. */
const ENDING_TIME = 10_000;

const WATCH = Symbol('watch');

/**
 * A `fetch` for an SDK client. One client serves many calls, and making one for each would cost more
 * than the rest of a request; the watch of a call rides on its options.
 */
export async function watchedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const watch = (init as { [WATCH]?: Watch } | undefined)?.[WATCH];
  watch?.begin();
  const response = await ownOriginFetch(input, watch?.isPatient ? { ...init, ...patience() } : init);
  return watch ? watch.watched(response) : response;
}

interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

/** Where Node's fetch, and every copy of undici, looks for what sends its requests. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/** Node's fetch waits five minutes for an answer to begin, which a whole one may well take. */
function patience(): object {
  const dispatcher = (globalThis as { [GLOBAL_DISPATCHER]?: Dispatcher })[GLOBAL_DISPATCHER];
  if (!dispatcher) return {};
  const dispatch: Dispatcher['dispatch'] = (options, handler) =>
    dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler);
  return { dispatcher: { dispatch } };
}

export interface WatchTimes {
  /** Milliseconds without a byte after which a call is given up. */
  idle: number;
  /** Milliseconds that the first byte may take; default as any other. */
  beginning?: number | undefined;
}

/**
 * Watches one call: `signal` aborts with the caller's, and when nothing has arrived for too long.
 * Bytes count, not events: a server's keep-alive comments never reach the reader of a stream.
 */
export class Watch {
  /** Waits longer for an answer to begin than for it to go on. */
  readonly isPatient: boolean;
  readonly #controller = new AbortController();
  readonly #idle: number;
  readonly #beginning: number | undefined;
  #limit: number;
  readonly #outer: AbortSignal;
  #timer: NodeJS.Timeout | undefined;
  #waited = 0;
  #silent: CutStream | undefined;

  constructor(outer: AbortSignal, { idle, beginning }: WatchTimes) {
    this.#outer = outer;
    this.#idle = idle;
    this.#limit = idle;
    this.#beginning = beginning;
    this.isPatient = beginning !== undefined;
    if (outer.aborted) this.#stop();
    else outer.addEventListener('abort', this.#stop, { once: true });
    this.begin();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Set when the stream was given up as silent. */
  get silent(): CutStream | undefined {
    return this.#silent;
  }

  /** A request is sent; a turn that pauses takes several. */
  begin(): void {
    this.#limit = this.#idle;
    this.#wait(this.#beginning ?? this.#idle);
  }

  /** Something arrived. */
  touch(): void {
    if (this.#waited === this.#limit) this.#timer?.refresh();
    else this.#wait(this.#limit);
  }

  /** All has arrived that is needed. */
  expectEnd(): void {
    this.#limit = Math.min(this.#idle, ENDING_TIME);
    this.touch();
  }

  /** The end was announced too early. */
  expectMore(): void {
    if (this.#limit === this.#idle) return;
    this.#limit = this.#idle;
    this.touch();
  }

  #wait(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#waited = milliseconds;
    this.#timer = setTimeout(() => {
      this.#silent = new CutStream(`nothing arrived for ${milliseconds / 1000} s`);
      this.#controller.abort(this.#silent);
    }, milliseconds);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waited = this.#limit;
    this.#outer.removeEventListener('abort', this.#stop);
  }

  /** What an SDK call is given as `fetchOptions`, so that `watchedFetch` finds its way here. */
  get fetchOptions(): { keepalive?: boolean } {
    return { [WATCH]: this } as { keepalive?: boolean };
  }

  /** The response; that of an error was read, watched. Any other goes through `bytesOf`. */
  async watched(response: Response): Promise<Response> {
    // The head of a whole answer may come long before the answer does.
    if (!this.isPatient) this.touch();
    if (!response.body || response.ok) return response;
    return readableError(response, this.bytesOf(response.body));
  }

  /** The bytes of a body as they arrive. A stream around the stream would cost more than taking it apart. */
  bytesOf(body: ReadableStream<Uint8Array>): Bytes {
    const reader = body.getReader();
    return {
      next: async () => {
        const { done, value } = await reader.read();
        this.touch();
        return done ? { done, value: undefined } : { done, value };
      },
      return: () => reader.cancel(),
    };
  }

  readonly #stop = (): void => this.#controller.abort(this.#outer.reason);
}
