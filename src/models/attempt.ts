import { ReasonixError } from '../core/errors.ts';
import { answerOf, errorIn } from './answer.ts';
import type { GenerateOptions, ModelDelta, ModelReply, ModelRequest } from './contract.ts';
import { type Piece, piecesOf } from './event-stream.ts';
import { CutStream, cancelledError, providerError } from './provider-error.ts';
import { plainText, withFirstCallOnly } from './tool-calls.ts';
import { DEFAULT_ANSWER_TIMEOUT, DEFAULT_IDLE_TIMEOUT, Watch } from './watched-fetch.ts';
import { secretsOf, type WireOptions } from './wire.ts';

/** What gathers an answer from the pieces of a stream, or takes it in at once. */
export interface Collector {
  readonly text: string;
  /** Whether the server has said that its answer ends here; what may follow are counts. */
  readonly isWhole: boolean;
  add(piece: Piece): Iterable<ModelDelta>;
  /** @throws CutStream when it holds no answer. */
  addWhole(answer: Record<string, unknown>): Iterable<ModelDelta>;
}

/** What one attempt lends to the code of a wire. */
export interface Attempt {
  /** For the SDK's call, so that it stops with the caller and when the server falls silent. */
  readonly watch: Watch;
  /** Reads an answer to its end into the collector, whether it is streamed or not. */
  read(response: Response): Promise<void>;
}

/**
 * One attempt on any wire: watched for silence, stopped with the caller's signal, and every failure an
 * error that says whether it may pass, keeps what had come, and shows no secret.
 */
export async function attempt(
  options: WireOptions,
  request: ModelRequest,
  { signal, onDelta }: GenerateOptions,
  collector: Collector,
  ask: (attempt: Attempt) => Promise<ModelReply>,
): Promise<ModelReply> {
  if (signal.aborted) throw cancelledError(signal);
  const { name, baseUrl, keyVariable, stream = true, idleTimeout = DEFAULT_IDLE_TIMEOUT } = options;
  const { answerTimeout = DEFAULT_ANSWER_TIMEOUT } = options;
  const watch = new Watch(signal, { idle: idleTimeout, beginning: stream ? undefined : answerTimeout });
  const show = (deltas: Iterable<ModelDelta>): void => {
    for (const delta of deltas) onDelta?.(delta);
  };
  const read = async (response: Response): Promise<void> => {
    const answer = await answerOf(response, (body) => watch.bytesOf(body));
    if ('whole' in answer) {
      const error = errorIn(answer.whole, response.headers);
      if (error) throw error;
      show(understood(() => collector.addWhole(answer.whole)));
    } else {
      for await (const piece of asFarAsNeeded(piecesOf(answer.events, response.headers), collector)) {
        show(understood(() => collector.add(piece)));
        if (collector.isWhole) watch.expectEnd();
        else watch.expectMore();
      }
    }
    if (signal.aborted) throw cancelledError(signal, collector.text);
  };
  try {
    const reply = storable(await ask({ watch, read }), request);
    if (isRefusal(reply)) throw refusal(name, request.model);
    return options.parallelTools === false ? withFirstCallOnly(reply) : reply;
  } catch (error) {
    if (signal.aborted) throw cancelledError(signal, collector.text);
    throw providerError(watch.silent ?? error, {
      provider: name,
      model: request.model,
      keyVariable,
      baseUrl,
      secrets: secretsOf(options),
      partialText: collector.text,
    });
  } finally {
    watch.end();
  }
}

/** An answer that is there, and was paid for, is not lost with the connection that brought it. */
async function* asFarAsNeeded(pieces: AsyncIterable<Piece>, collector: Collector): AsyncGenerator<Piece> {
  try {
    yield* pieces;
  } catch (error) {
    const isSaid = error instanceof Error && 'error' in error;
    if (!collector.isWhole || isSaid) throw error;
  }
}

/** An answer in a shape that no server of its kind has is the server's fault, not ours, and may come right. */
function understood<Result>(take: () => Result): Result {
  try {
    return take();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CutStream(`the answer has a shape that cannot be read (${error.message})`);
  }
}

/** What a server called itself and gave as its reason may be no text; the log takes nothing else. */
const storable = (reply: ModelReply, request: ModelRequest): ModelReply => ({
  ...reply,
  model: plainText(reply.model) || request.model,
  finishReason: plainText(reply.finishReason) || 'stop',
});

/** An answer without a word, because the provider held it back. */
const isRefusal = ({ finishReason, text, toolCalls }: ModelReply): boolean =>
  finishReason === 'content_filter' && text.trim() === '' && toolCalls.length === 0;

const refusal = (provider: string, model: string): ReasonixError =>
  new ReasonixError('provider', `${provider} declined to answer: ${model} was stopped by its content filter`, {
    hint: 'rephrase the task, or ask another model',
    details: { provider, retryable: false },
  });
