import { messageOf, ReasonixError } from '../core/errors.ts';
import type { Clock } from './clock.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from './contract.ts';

/** A model that may be asked in place of another. */
export interface Candidate {
  /** `provider/model`. */
  name: string;
  model: string;
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
 * when the request itself was refused: it would be again. Who answered in place of the first is told by a
 * `fallback` delta and in the reply.
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

  async generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply> {
    const [first] = this.#candidates;
    const failures: ReasonixError[] = [];
    const awake = this.#candidates.filter((candidate) => !this.#rests(candidate));
    const asked = awake.length > 0 ? awake : this.#candidates;
    for (const [index, candidate] of asked.entries()) {
      if (candidate !== first) {
        const reason = failures.at(-1) ?? this.#resting.get(first)?.error;
        const { name: to } = candidate;
        options.onDelta?.({ type: 'fallback', from: first.name, to, reason: messageOf(reason) });
      }
      try {
        const client = await candidate.client();
        const reply = await client.generate({ ...request, model: candidate.model }, options);
        if (candidate === first) return reply;
        return { ...reply, fallbackFrom: first.name, answeredBy: candidate.name };
      } catch (error) {
        if (options.signal.aborted || !ReasonixError.isInstance(error) || !isFinal(error)) throw error;
        failures.push(error);
        this.#resting.set(candidate, { until: this.#clock.now() + REST, error });
        if (index === asked.length - 1) throw allFailed(failures);
      }
    }
    throw allFailed(failures);
  }

  #rests(candidate: Candidate): boolean {
    return (this.#resting.get(candidate)?.until ?? 0) > this.#clock.now();
  }
}

function isFinal({ code, details }: ReasonixError): boolean {
  if (FINAL_CODES.has(code)) return true;
  const { status } = details;
  return code === 'provider' && (details.retryable === true || status === 402 || status === 429);
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
