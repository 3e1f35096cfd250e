import { ReasonixError } from '../core/errors.ts';
import { linkSignals } from '../core/linked-signal.ts';
import { SharedBackoff } from './backoff.ts';
import { type Clock, systemClock } from './clock.ts';
import type { GenerateOptions, ModelClient, ModelDelta, ModelReply, ModelRequest } from './contract.ts';
import { Deadline } from './deadline.ts';
import { cancelledError, type ProviderErrorContext, providerError } from './provider-error.ts';
import type { RateLimit } from './rate-limit.ts';

export interface RetryOptions {
  /** Attempts in all, the first included; default 6. */
  attempts?: number | undefined;
  /** Milliseconds from the first attempt after which no other begins; default 900,000. */
  totalTime?: number | undefined;
  /** Milliseconds after which the call is given up, whatever it is doing; default none. */
  deadline?: number | undefined;
  /** Upper bound of the first wait, doubled for each next one; default 500 ms. */
  baseDelay?: number | undefined;
  /** Upper bound of a wait that no server asked for; default 30,000 ms. */
  maxDelay?: number | undefined;
  /** The window that calls of the same provider share; default one of its own. */
  backoff?: SharedBackoff | undefined;
  /** Holds back every attempt until there is room for it; the time until then counts for neither limit. Default none. */
  rate?: { limit: RateLimit; perMinute: number } | undefined;
  clock?: Clock | undefined;
}

/** More than there are calls. */
const LATE = 2 ** 40;

/** What a raw error is told as; a wire's own errors say all that themselves. */
type ErrorContext = Omit<ProviderErrorContext, 'provider' | 'model' | 'partialText' | 'now'>;

/** What each attempt but the last may fail with, for the window of all: the server asked for less. */
const THROTTLED = new Set([429, 503, 529]);

/**
 * Repeats what may succeed later: 408, 409, 425, 429 and 5xx, connections that failed, streams that broke
 * or fell silent. Waits have jitter and never are shorter than what the server asked for. A
 * repeated attempt is told by a `retry` delta: what was shown of the broken one no longer counts. The
 * error of the last attempt keeps the longest partial text of all.
 */
export function withRetry(client: ModelClient, options: RetryOptions & ErrorContext = {}): ModelClient {
  return new RetryingClient(client, options);
}

class RetryingClient implements ModelClient {
  readonly provider: string;
  readonly #client: ModelClient;
  readonly #context: ErrorContext;
  readonly #attempts: number;
  readonly #totalTime: number;
  readonly #deadline: number | undefined;
  readonly #baseDelay: number;
  readonly #maxDelay: number;
  readonly #backoff: SharedBackoff;
  readonly #rate: RetryOptions['rate'];
  readonly #clock: Clock;

  constructor(client: ModelClient, options: RetryOptions & ErrorContext) {
    const { attempts = 6, totalTime = 900_000, baseDelay = 500, maxDelay = 30_000, clock = systemClock } = options;
    if (!(attempts >= 1)) throw new RangeError(`attempts must be 1 or more, but it is ${attempts}`);
    this.provider = client.provider;
    this.#client = client;
    this.#context = options;
    this.#attempts = attempts;
    this.#totalTime = totalTime;
    this.#deadline = options.deadline;
    this.#rate = options.rate;
    this.#baseDelay = baseDelay;
    this.#maxDelay = maxDelay;
    this.#clock = clock;
    this.#backoff = options.backoff ?? new SharedBackoff(clock);
  }

  async generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply> {
    if (this.#deadline === undefined) return this.#try(request, options);
    const deadline = new Deadline(this.#deadline);
    const linked = linkSignals([options.signal, deadline.signal]);
    try {
      return await this.#try(request, { ...options, signal: linked.signal }, deadline);
    } catch (error) {
      if (options.signal.aborted || !linked.signal.aborted) throw error;
      throw this.#tooLate(this.#deadline, error);
    } finally {
      deadline.end();
      linked.unlink();
    }
  }

  async #try(request: ModelRequest, options: GenerateOptions, deadline?: Deadline): Promise<ModelReply> {
    const { signal, onDelta } = options;
    let startedAt = this.#clock.now();
    const ticket = this.#backoff.ticket();
    let partialText = '';
    let place = ticket;
    const heard = (delta: ModelDelta): void => {
      this.#backoff.heard(place);
      onDelta?.(delta);
    };
    for (let attempt = 1; ; attempt++) {
      // Who goes first learns for the others whether the server takes anything: not at the price of a last attempt.
      place = attempt > 1 && attempt === this.#attempts ? ticket + LATE : ticket;
      await this.#pause(signal, partialText, async () => {
        startedAt += await this.#turn({ signal, place, root: request.root }, deadline);
      });
      let error: ReasonixError;
      try {
        const reply = await this.#client.generate(request, { signal, onDelta: heard });
        this.#backoff.heard(place);
        return reply;
      } catch (thrown) {
        error = this.#explain(thrown, request);
      }
      const isThrottled = error.details.retryAfter !== undefined || THROTTLED.has(Number(error.details.status));
      if (!isThrottled) this.#backoff.heard(place);
      partialText = longest(partialText, error.details.partialText);
      if (signal.aborted || error.code === 'cancelled') throw cancelledError(signal, partialText);
      if (error.details.retryable !== true) throw finalError(error, { attempt, partialText });

      const asked = typeof error.details.retryAfter === 'number' ? error.details.retryAfter : undefined;
      const spread = this.#spread(attempt);
      // A window that all share is followed by turns, which are their jitter; alone, all of the wait is.
      // Less than a first wait says nothing: a 0, or a date by a clock that is behind ours, would use up all
      // attempts at once.
      const least = asked !== undefined && asked >= this.#baseDelay ? asked : Math.max(asked ?? 0, spread / 2);
      const delay = isThrottled ? least : this.#clock.random() * spread;
      if (attempt >= this.#attempts) throw finalError(error, { attempt, partialText });
      if (this.#clock.now() - startedAt + delay > this.#totalTime)
        throw finalError(error, { attempt, partialText, asked });
      onDelta?.({ type: 'retry', attempt, delay: Math.round(delay), reason: error.message });
      if (isThrottled) this.#backoff.close(delay, spread);
      else await this.#pause(signal, partialText, () => this.#clock.sleep(delay, signal));
    }
  }

  /** Waits until the provider takes requests and has room for one more; says how long it was about room. */
  async #turn(
    { signal, place, root }: { signal: AbortSignal; place: number; root: string | undefined },
    deadline: Deadline | undefined,
  ): Promise<number> {
    let waited = 0;
    for (;;) {
      await this.#backoff.wait(signal, place);
      if (!this.#rate) return 0;
      const before = this.#clock.now();
      deadline?.pause();
      await this.#rate.limit.acquire(this.provider, this.#rate.perMinute, signal, root);
      deadline?.resume();
      waited += this.#clock.now() - before;
      // When all were told to wait meanwhile, the room would be used at another time than it was given for.
      if (this.#backoff.remaining === 0) return waited;
    }
  }

  async #pause(signal: AbortSignal, partialText: string, wait: () => Promise<void>): Promise<void> {
    if (signal.aborted) throw cancelledError(signal, partialText);
    try {
      await wait();
    } catch (error) {
      if (signal.aborted) throw cancelledError(signal, partialText);
      throw error;
    }
  }

  #explain(error: unknown, request: ModelRequest): ReasonixError {
    return providerError(error, {
      ...this.#context,
      provider: this.provider,
      model: request.model,
      now: this.#clock.now(),
    });
  }

  #tooLate(deadline: number, error: unknown): ReasonixError {
    const partialText = ReasonixError.isInstance(error) ? error.details.partialText : undefined;
    return new ReasonixError('provider', `${this.provider}: no whole answer within ${deadline / 1000} s`, {
      hint: 'raise agent.request_timeout, or ask for less at once',
      cause: error,
      details: { provider: this.provider, retryable: true, ...(partialText ? { partialText } : {}) },
    });
  }

  /** A bound that doubles with every attempt. */
  #spread(attempt: number): number {
    return Math.min(this.#maxDelay, this.#baseDelay * 2 ** (attempt - 1));
  }
}

const longest = (kept: string, text: unknown): string =>
  typeof text === 'string' && text.length > kept.length ? text : kept;

function finalError(
  error: ReasonixError,
  { attempt, partialText, asked }: { attempt: number; partialText: string; asked?: number | undefined },
): ReasonixError {
  const tries = attempt > 1 ? ` (after ${attempt} attempts)` : '';
  const wait = asked === undefined ? '' : ` (asked to wait ${Math.ceil(asked / 1000)} s, longer than allowed)`;
  return new ReasonixError(error.code, error.message + tries + wait, {
    hint: error.hint,
    cause: error.cause,
    details: { ...error.details, attempts: attempt, ...(partialText === '' ? {} : { partialText }) },
  });
}
