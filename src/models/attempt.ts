import { ReasonixError } from '../core/errors.ts';
import type { GenerateOptions, ModelDelta, ModelReply, ModelRequest } from './contract.ts';
import { cancelledError, providerError } from './provider-error.ts';
import { withFirstCallOnly } from './tool-calls.ts';
import { DEFAULT_IDLE_TIMEOUT, Watch } from './watched-fetch.ts';
import { secretsOf, type WireOptions } from './wire.ts';

/** What gathers an answer from the pieces of a stream. */
export interface Collector<Piece> {
  readonly text: string;
  add(piece: Piece): Iterable<ModelDelta>;
}

/** What one attempt lends to the code of a wire. */
export interface Attempt<Piece> {
  /** For the SDK's call, so that it stops with the caller and when the server falls silent. */
  readonly watch: Watch;
  /** Reads a stream to its end into the collector. */
  read(stream: AsyncIterable<Piece>): Promise<void>;
}

/**
 * One attempt on any wire: watched for silence, stopped with the caller's signal, and every failure an
 * error that says whether it may pass, keeps what had come, and shows no secret.
 */
export async function attempt<Piece>(
  options: WireOptions,
  request: ModelRequest,
  { signal, onDelta }: GenerateOptions,
  collector: Collector<Piece>,
  ask: (attempt: Attempt<Piece>) => Promise<ModelReply>,
): Promise<ModelReply> {
  if (signal.aborted) throw cancelledError(signal);
  const { name, baseUrl, keyVariable, idleTimeout = DEFAULT_IDLE_TIMEOUT } = options;
  const watch = new Watch(signal, idleTimeout);
  const read = async (stream: AsyncIterable<Piece>): Promise<void> => {
    for await (const piece of stream) {
      for (const delta of collector.add(piece)) onDelta?.(delta);
    }
    if (signal.aborted) throw cancelledError(signal, collector.text);
    if (watch.silent) throw watch.silent;
  };
  try {
    const reply = await ask({ watch, read });
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

/** An answer without a word, because the provider held it back. */
const isRefusal = ({ finishReason, text, toolCalls }: ModelReply): boolean =>
  finishReason === 'content_filter' && text.trim() === '' && toolCalls.length === 0;

const refusal = (provider: string, model: string): ReasonixError =>
  new ReasonixError('provider', `${provider} declined to answer: ${model} was stopped by its content filter`, {
    hint: 'rephrase the task, or ask another model',
    details: { provider, retryable: false },
  });
