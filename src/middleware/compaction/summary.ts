import { isCancellation } from '../../core/errors.ts';
import { linkSignals } from '../../core/linked-signal.ts';
import { prompt } from '../../core/prompts.ts';
import { wellFormed } from '../../core/text.ts';
import type { Usage } from '../../core/usage.ts';
import type { ResolvedModel } from '../../models/contract.ts';
import { costOfReply } from '../../models/prices.ts';

/** Milliseconds that a summary may take, retries included: without one the session still goes on. */
const MOST_TIME = 180_000;

/** Words a token, about. */
const WORDS = 0.7;

export interface SummaryRequest {
  model: ResolvedModel;
  record: string;
  /** Tokens that the summary should have at most. */
  limit: number;
  /** Tokens of request and answer. */
  window: number;
  session: string;
  root: string | undefined;
  signal: AbortSignal;
}

export interface Summary {
  /** Empty when the model had nothing to say. */
  text: string;
  usage: Usage;
  cost: number | undefined;
  model: string;
}

/** Tokens that a model may answer with in such a window: a model that thinks needs more than the summary has. */
export const answerRoom = (window: number): number => Math.floor(Math.min(4_096, window / 4));

/**
 * Asks a model for a summary, past the chain: no middleware sees the call. `undefined` when it failed.
 * @throws what the signal was aborted with.
 */
export async function summarise(request: SummaryRequest): Promise<Summary | undefined> {
  const { model, record, limit, window, session, root, signal } = request;
  const linked = linkSignals([signal], MOST_TIME);
  try {
    const reply = await model.client.generate(
      {
        tools: [],
        system: prompt('compaction', { words: Math.floor(limit * WORDS) }),
        messages: [{ role: 'user', origin: 'task', content: prompt('compaction-record', { record }) }],
        model: model.model,
        maxOutputTokens: answerRoom(window),
        session,
        root,
      },
      { signal: linked.signal },
    );
    const { text, usage } = reply;
    return { text: wellFormed(text).trim(), usage, cost: costOfReply(model, reply), model: reply.model };
  } catch (error) {
    if (signal.aborted) throw isCancellation(error) ? error : signal.reason;
    return undefined;
  } finally {
    linked.unlink();
  }
}
