import { messageOf, ReasonixError } from '../core/errors.ts';
import type { Clock } from './clock.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest, ModelWindow } from './contract.ts';
import { estimateUsage } from './estimate.ts';
import { roomOf } from './windows.ts';

/** A model that may be asked in place of another. */
export interface Candidate {
  /** `provider/model`. */
  name: string;
  model: string;
  window: ModelWindow;
  /** Built when it is first asked. */
  client(): Promise<ModelClient>;
}

/** How long a model that failed for good is left alone, in milliseconds: each step would wait for it again. */
const REST = 60_000;

/** What another attempt at the same model does not cure. */
const FINAL_CODES = new Set(['provider_auth', 'model_not_found', 'provider_overloaded']);

/**
 * Asks the models of a list in order until one answers. The next one is asked when one failed for good:
 * its attempts are used up, its key is refused, it does not exist. Not when the call was cancelled, and not
 * when the request itself was refused: it would be again. One whose window is too small for the request is
 * left out when another's is not. Who answered in place of the first is told by a `fallback` delta and in
 * the reply.
 */
export class FallbackClient implements ModelClient {
  readonly provider: string;
  readonly #candidates: readonly [Candidate, ...Candidate[]];
  readonly #clock: Clock;
  readonly #resting = new Map<Candidate, { until: number; error: ReasonixError }>();

  constructor(provider: string, candidates: readonly [Candidate, ...Candidate[]], clock: Clock) {
    this.provider = provider;
    this.#candidates = candidates;
    this.#clock = clock;
  }

  /** The one that a request of about so many tokens would go to now. */
  next(tokens: number): ModelWindow & { name: string } {
    const { name, window } = this.#suited(this.#awake(), tokens)[0] ?? this.#candidates[0];
    return { name, ...window };
  }

  /**
   * @throws ReasonixError `context_length` when the request fits no model that is left, with the name and the
   * room of the one that would have been asked as `details.model` and `details.room`.
   */
  async generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply> {
    const [first] = this.#candidates;
    const failures: ReasonixError[] = [];
    const tokens = estimateUsage(request, NOTHING).input;
    const awake = this.#awake();
    const suited = this.#suited(awake, tokens);
    for (const [index, candidate] of suited.entries()) {
      if (candidate !== first) {
        const error = failures.at(-1) ?? this.#resting.get(first)?.error;
        if (!fits(candidate, tokens)) throw tooSmall(candidate, tokens, error);
        const small = awake.slice(0, awake.indexOf(candidate)).filter((each) => !suited.includes(each));
        const reason = [messageOf(error), ...small.map((each) => leftOut(each, tokens))].join('; ');
        options.onDelta?.({ type: 'fallback', from: first.name, to: candidate.name, reason });
      }
      try {
        const client = await candidate.client();
        const reply = await client.generate({ ...request, model: candidate.model }, options);
        if (candidate === first) return reply;
        return { ...reply, fallbackFrom: first.name, answeredBy: candidate.name };
      } catch (error) {
        if (options.signal.aborted || !ReasonixError.isInstance(error)) throw error;
        if (!isFinal(error)) throw candidate === first ? error : named(error, candidate);
        failures.push(error);
        this.#resting.set(candidate, { until: this.#clock.now() + REST, error });
        if (index === suited.length - 1) throw allFailed(failures);
      }
    }
    throw allFailed(failures);
  }

  #awake(): readonly Candidate[] {
    const awake = this.#candidates.filter((candidate) => !this.#rests(candidate));
    return awake.length > 0 ? awake : this.#candidates;
  }

  /**
   * Those to ask, in order: the first of all, which whoever asks has judged, then those whose window is large
   * enough; where there are none, the largest, for which the least has to be given up.
   */
  #suited(awake: readonly Candidate[], tokens: number): readonly Candidate[] {
    const [first] = this.#candidates;
    const others = awake.filter((candidate) => candidate !== first);
    const fitting = others.filter((candidate) => fits(candidate, tokens));
    const largest = others.toSorted((left, right) => roomOf(right.window) - roomOf(left.window)).slice(0, 1);
    return [...(awake.includes(first) ? [first] : []), ...(fitting.length > 0 ? fitting : largest)];
  }

  #rests(candidate: Candidate): boolean {
    return (this.#resting.get(candidate)?.until ?? 0) > this.#clock.now();
  }
}

/** An answer that has not come yet. */
const NOTHING = { text: '', toolCalls: [] };

/** A window that is a guess holds nobody off. */
const fits = ({ window }: Candidate, tokens: number): boolean => !window.isWindowKnown || tokens <= roomOf(window);

const leftOut = ({ name, window }: Candidate, tokens: number): string =>
  `${name} is left out: a request of about ${tokens} tokens does not fit into its ${roomOf(window)}`;

function tooSmall({ name, window }: Candidate, tokens: number, cause: ReasonixError | undefined): ReasonixError {
  const why = cause ? ` (asked because: ${cause.message})` : '';
  const said = `a request of about ${tokens} tokens does not fit into the ${roomOf(window)} of the fallback model ${name}`;
  return new ReasonixError('context_length', said + why, {
    hint: 'shorten the conversation, or name a fallback model with a larger window',
    cause,
    details: { model: name, room: roomOf(window), retryable: false },
  });
}

/** The same error, which says whose it is. */
const named = (error: ReasonixError, { name }: Candidate): ReasonixError =>
  new ReasonixError(error.code, error.message, {
    hint: error.hint,
    cause: error.cause,
    details: { ...error.details, model: name },
  });

function isFinal({ code, details }: ReasonixError): boolean {
  if (FINAL_CODES.has(code)) return true;
  const { status } = details;
  // A server may know of a failure of its own that asking again does not cure it.
  const isTheirs = details.retryable === true || Number(status) >= 500;
  return code === 'provider' && (isTheirs || status === 402 || status === 429);
}

/** The first error, with what the others said; the longest of their partial texts is kept. */
function allFailed(failures: readonly ReasonixError[]): ReasonixError {
  const [first, ...others] = failures;
  if (!first || others.length === 0) return first ?? new ReasonixError('internal', 'no model was asked');
  const texts = failures.map(({ details }) => (typeof details.partialText === 'string' ? details.partialText : ''));
  const partialText = texts.reduce((longest, text) => (text.length > longest.length ? text : longest), '');
  const said = others.map(({ message }) => message).join('; ');
  return new ReasonixError(first.code, `${first.message}; fallback models failed, too: ${said}`, {
    hint: first.hint,
    cause: first,
    details: { ...first.details, ...(partialText === '' ? {} : { partialText }) },
  });
}
