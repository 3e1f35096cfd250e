import { ReasonixError } from '../core/errors.ts';
import { byteLength } from '../core/text.ts';
import { totalTokens } from '../core/usage.ts';
import type { ModelWindow, ResolvedModel } from '../models/contract.ts';
import { roomOf } from '../models/windows.ts';
import { leftOut } from '../session/left-out.ts';
import { defineMiddleware, type Middleware, type ModelCall } from '../session/middleware.ts';
import type { Thread } from '../session/thread.ts';
import { clip } from './clipping.ts';
import type { CompactionJob, Compactor } from './compaction/compactor.ts';
import { mostCost } from './most-cost.ts';

/** Most of a window that one result may take. */
const LARGEST_RESULT = 0.25;

/** Estimates are off by so much at most; what is beyond is not worth sending. */
const ESTIMATE_ERROR = 1.25;

/** A window that a provider has shown to be smaller than what it was sent. */
const SHOWN_WINDOW = 0.9;

/** A model that answers a call: the session's own, or a fallback. */
type Asked = ModelWindow & { name: string };

/**
 * Keeps the context of a session within the window of the model that will be asked, without
 * what is kept free in it for the answer. Before a request that would fill it up to the compactor's share,
 * the session is compacted, at most once a step; a request that is refused for its length, by a provider
 * or because only a fallback model with a smaller window is left, is compacted and sent once more.
 */
export function compaction(compactor: Compactor): Middleware {
  /** Windows that were found to be smaller than configured, by model: as a provider named them. */
  const named = new Map<string, number>();
  /** The same without a number: what a thread was refused with tells of no other, whose size is estimated better. */
  const guessed = new WeakMap<Thread, Map<string, number>>();
  const windows = new WeakMap<Thread, number>();

  const windowOf = (asked: Asked, thread: Thread): number =>
    Math.min(roomOf(asked), named.get(asked.name) ?? Infinity, guessed.get(thread)?.get(asked.name) ?? Infinity);

  async function compact(
    call: ModelCall,
    window: number,
    reason: CompactionJob['reason'],
  ): Promise<ModelCall | undefined> {
    const done = await compactor.compact(jobOf(call, window, reason));
    return done && { ...call, request: { ...call.request, messages: call.turn.thread.history() } };
  }

  /** The model that refused a request, with the window that it has shown to have. */
  function learnt(call: ModelCall, asked: Asked, error: ReasonixError): Asked {
    const { model, room } = error.details;
    const refused = call.model.fallbacks?.find(({ name }) => name === model) ?? asked;
    if (typeof room === 'number') return refused;
    const { thread } = call.turn;
    const whole = windowIn(error.message);
    if (whole === undefined) {
      const own = guessed.get(thread) ?? new Map<string, number>();
      guessed.set(
        thread,
        own.set(refused.name, Math.min(windowOf(refused, thread), SHOWN_WINDOW * thread.size.tokens)),
      );
    } else {
      const real = Math.max(whole - (refused.answerTokens ?? 0), whole / 2);
      named.set(refused.name, Math.min(named.get(refused.name) ?? Infinity, real));
    }
    return refused;
  }

  return defineMiddleware({
    name: 'compaction',

    async aroundModel(call, next) {
      if (compactor.at === 0) return next(call);
      const { thread } = call.turn;
      const asked = askedFor(call.model, thread.size.tokens);
      const window = windowOf(asked, thread);
      windows.set(thread, window);
      const isFull = thread.size.tokens >= compactor.at * window;
      const current = (isFull ? await compact(call, window, 'window') : undefined) ?? call;
      if (isFull && asked.isWindowKnown && thread.size.tokens > ESTIMATE_ERROR * window) {
        throw overflow(call, asked.name, window);
      }
      try {
        return await next(current);
      } catch (error) {
        if (!ReasonixError.isInstance(error, 'context_length')) throw error;
        const refused = learnt(call, asked, error);
        const left = windowOf(refused, thread);
        windows.set(thread, left);
        const smaller = await compact(call, left, 'overflow');
        if (!smaller) throw overflow(call, refused.name, left, error);
        return await next(smaller).catch((again: unknown) => {
          throw ReasonixError.isInstance(again, 'context_length') ? overflow(call, refused.name, left, again) : again;
        });
      }
    },

    /** In a small window one result could leave no room for anything else. */
    async aroundTool(run, next) {
      const outcome = await next(run);
      const { thread } = run.turn;
      const window = windows.get(thread);
      if (window === undefined || outcome.isBounded) return outcome;
      const limit = thread.size.charactersOf(window * LARGEST_RESULT);
      if (outcome.content.length <= limit) return outcome;
      const full = outcome.full ?? outcome.content;
      const bytes = byteLength(full);
      const content = clip(outcome.content, limit, (offset) =>
        leftOut(thread, 'clipped', { bytes, call: run.call.id, offset }),
      );
      return { ...outcome, content, full };
    },
  });
}

/** Who a request of so many tokens would go to. */
function askedFor(model: ResolvedModel, tokens: number): Asked {
  const { contextWindow, isWindowKnown, answerTokens } = model;
  return model.next?.(tokens) ?? { name: nameOf(model), contextWindow, isWindowKnown, answerTokens };
}

const nameOf = ({ provider, model }: ResolvedModel): string => `${provider}/${model}`;

function jobOf(call: ModelCall, window: number, reason: CompactionJob['reason']): CompactionJob {
  const { turn, model, signal, isLast } = call;
  const { thread, budget } = turn;
  return {
    thread,
    model,
    window,
    reason,
    signal,
    // After a limit nothing is spent but on the last word.
    setAside: (model, usage) => {
      const cost = mostCost(model, usage);
      if (isLast || (budget.limits('cost') && cost === undefined)) return undefined;
      return budget.setAside({ tokens: totalTokens(usage), cost: cost ?? 0 });
    },
    charge: ({ usage, cost }) => budget.charge({ tokens: totalTokens(usage), cost: cost ?? 0 }),
    progress: (text) => turn.progress(text),
    append: (events) => turn.append(events),
  };
}

function overflow({ turn }: ModelCall, name: string, window: number, cause?: unknown): ReasonixError {
  const tokens = turn.thread.size.tokens;
  return new ReasonixError(
    'context_overflow',
    `context_overflow: the conversation does not fit the window of ${name}, also after compaction (about ${tokens} of ${Math.round(window)} tokens)`,
    {
      hint: 'use a model with a larger window, or set context_window of its provider',
      cause,
      details: { tokens, window, partialText: turn.thread.turn?.lastText ?? '' },
    },
  );
}

/** The window that a provider names when it refuses a request. */
function windowIn(message: string): number | undefined {
  const match = /maximum context length (?:is|of) ([\d,]+)|> ([\d,]+) maximum/i.exec(message);
  const tokens = Number((match?.[1] ?? match?.[2] ?? '').replaceAll(',', ''));
  return tokens > 0 ? tokens : undefined;
}
