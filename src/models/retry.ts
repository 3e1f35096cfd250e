import { ReasonixError } from '../core/errors.ts';
import { SharedBackoff } from './backoff.ts';
import { type Clock, systemClock } from './clock.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from './contract.ts';
import { cancelledError, type ProviderErrorContext, providerError } from './provider-error.ts';

export interface RetryOptions {
  /** Attempts in all, the first included; default 6. */
  attempts?: number | undefined;
  /** Milliseconds from the first attempt after which no other begins; default 900,000. */
  totalTime?: number | undefined;
  /** Upper bound of the first wait, doubled for each next one; default 500 ms. */
  baseDelay?: number | undefined;
  /** Upper bound of a wait that no server asked for; default 30,000 ms. */
  maxDelay?: number | undefined;
  /** The window that calls of the same provider share; default one of its own. */
  backoff?: SharedBackoff | undefined;
  clock?: Clock | undefined;
}

/** What a raw error is told as; a wire's own errors say all that themselves. */
type ErrorContext = Omit<ProviderErrorContext, 'provider' | 'model' | 'partialText' | 'now'>;

/** What each attempt but the last may fail with, for the window of all: the server asked for less. */
const THROTTLED = new Set([429, 503, 529]);

/**
 * Repeats what may succeed later: 408, 409, 425, 429 and 5xx, connections that failed, streams that broke
 * or fell silent. Waits have full jitter and never are shorter than what the server asked for. A
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
  readonly #baseDelay: number;
  readonly #maxDelay: number;
  readonly #backoff: SharedBackoff;
  readonly #clock: Clock;

  constructor(client: ModelClient, options: RetryOptions & ErrorContext) {
    const { attempts = 6, totalTime = 900_000, baseDelay = 500, maxDelay = 30_000, clock = systemClock } = options;
    if (!(attempts >= 1)) throw new RangeError(`attempts must be 1 or more, but it is ${attempts}`);
    this.provider = client.provider;
    this.#client = client;
    this.#context = options;
    this.#attempts = attempts;
    this.#totalTime = totalTime;
    this.#baseDelay = baseDelay;
    this.#maxDelay = maxDelay;
    this.#clock = clock;
    this.#backoff = options.backoff ?? new SharedBackoff(clock);
  }

  async generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply> {
    const { signal, onDelta } = options;
    const startedAt = this.#clock.now();
    let partialText = '';
    for (let attempt = 1; ; attempt++) {
      await this.#pause(signal, partialText, () => this.#backoff.wait(signal, this.#spread(attempt)));
      let error: ReasonixError;
      try {
        return await this.#client.generate(request, options);
      } catch (thrown) {
        error = this.#explain(thrown, request);
      }
      partialText = longest(partialText, error.details.partialText);
      if (signal.aborted || error.code === 'cancelled') throw cancelledError(signal, partialText);
      if (error.details.retryable !== true) throw finalError(error, { attempt, partialText });

      const asked = typeof error.details.retryAfter === 'number' ? error.details.retryAfter : undefined;
      const delay = this.#delay(attempt, asked);
      if (attempt >= this.#attempts) throw finalError(error, { attempt, partialText });
      if (this.#clock.now() - startedAt + delay > this.#totalTime)
        throw finalError(error, { attempt, partialText, asked });
      if (asked !== undefined || THROTTLED.has(Number(error.details.status))) this.#backoff.close(asked ?? delay);
      onDelta?.({ type: 'retry', attempt, delay: Math.round(delay), reason: error.message });
      await this.#pause(signal, partialText, () => this.#clock.sleep(delay, signal));
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

  /** Full jitter: anything up to a bound that doubles; on top of what the server asked for, a part of it. */
  #delay(attempt: number, asked: number | undefined): number {
    return (asked ?? 0) + this.#clock.random() * this.#spread(attempt);
  }

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
