import { ReasonixError } from '../core/errors.ts';
import { type LimitHit, LimitReached } from '../core/limits.ts';
import { costOf, type Price, totalTokens, type Usage } from '../core/usage.ts';
import type { ModelReply, ResolvedModel } from '../models/contract.ts';
import { estimateUsage } from '../models/estimate.ts';
import { costOfReply } from '../models/prices.ts';
import { defineMiddleware, type Middleware, type ModelCall, type TurnView } from '../session/middleware.ts';
import { mostCost } from './most-cost.ts';

/** Fewer tokens than this make no answer: a call with less room than that still gets so many. */
const SHORTEST_ANSWER = 256;

/** Answers are held short below this; every model takes so many, and a higher number some refuse. */
const SHORT_ANSWER = 4_096;

/**
 * Stops a turn before the model call that its budget has no room for, and charges each call up the
 * tree. Near the end of a token or cost budget an answer may be no longer than what is left, and calls
 * of several sessions go one after the other. The summing-up after a limit is charged; only what a level
 * above has used up stops it, so that a limit grants one step however many sessions draw on it.
 */
export function budgets(): Middleware {
  /** Turns whose newest answer was cut short for lack of room. */
  const cutShort = new WeakMap<TurnView, LimitHit>();
  return defineMiddleware({
    name: 'budgets',
    async aroundModel(call, next) {
      const { budget } = call.turn;
      const unknown = budget.limits('cost') ? modelWithoutPrice(call) : undefined;
      if (unknown !== undefined) {
        throw new ReasonixError('config', `a cost limit is set, but the price of ${unknown} is not known`, {
          hint: 'set prices for it in its provider, or use a token limit',
        });
      }
      if (budget.isShared) await budget.refresh();
      const hit = call.isLast ? undefined : (cutShort.get(call.turn) ?? budget.exhausted());
      if (hit) throw new LimitReached(hit);
      const own = budget.limits('tokens') || budget.limits('cost') ? mostUseOf(call) : undefined;
      const signal = call.signal;
      const release = own && (await (call.isLast ? budget.reserveAbove(own, signal) : budget.reserve(own, signal)));
      try {
        const room = call.isLast || !own ? undefined : answerRoom(call, own);
        const reply = await next(room ? { ...call, request: { ...call.request, maxOutputTokens: room.tokens } } : call);
        budget.charge({ steps: 1, tokens: totalTokens(reply.usage), cost: costOfReply(call.model, reply) ?? 0 });
        if (budget.isShared) await recordOwn(call, reply);
        if (room && reply.finishReason === 'length') cutShort.set(call.turn, room.hit);
        return reply;
      } finally {
        release?.();
      }
    },
    finishTurn(turn) {
      const hit = cutShort.get(turn);
      if (hit) throw new LimitReached(hit);
      return { kind: 'end' };
    },
  });
}

/** What the turn has spent itself: what its log says, and the reply that it does not have yet. */
async function recordOwn({ turn: { budget, info, thread }, model }: ModelCall, reply: ModelReply): Promise<void> {
  const { turn } = thread;
  if (!turn) return;
  await budget.record(
    { session: info.session, turn: turn.seq },
    {
      tokens: totalTokens(turn.usage) + totalTokens(reply.usage),
      cost: (turn.cost ?? 0) + (costOfReply(model, reply) ?? 0),
    },
  );
}

/** The first of the models that may answer whose price is not known. */
function modelWithoutPrice({ model }: ModelCall): string | undefined {
  if (!model.price) return `${model.provider}/${model.model}`;
  return model.fallbacks?.find(({ price }) => !price)?.name;
}

interface Use {
  /** Of the prompt. */
  input: Usage;
  tokens: number;
  cost: number;
}

/** What a call is expected to use at most. */
function mostUseOf({ request, model }: ModelCall): Use {
  const input = estimateUsage(request, { text: '', toolCalls: [] });
  const most = { ...input, output: request.maxOutputTokens ?? SHORT_ANSWER };
  return { input, tokens: totalTokens(most), cost: mostCost(model, most) ?? 0 };
}

/** The price of the model that a request of so many tokens goes to now, which may be a fallback. */
function priceNow({ price, fallbacks, next }: ResolvedModel, tokens: number): Price | undefined {
  const asked = next?.(tokens).name;
  const fallback = fallbacks?.find(({ name }) => name === asked);
  return fallback ? fallback.price : price;
}

/** Tokens that the answer may have, where the budget leaves room for a short one only. */
function answerRoom(
  { turn: { budget }, request, model }: ModelCall,
  own: Use,
): { tokens: number; hit: LimitHit } | undefined {
  const tokens = budget.room('tokens', own.tokens);
  const cost = budget.room('cost', own.cost);
  const price = priceNow(model, own.input.input);
  const rooms = [
    ...(tokens ? [{ tokens: tokens.left - own.input.input, hit: tokens.hit }] : []),
    ...(cost && price?.output
      ? [{ tokens: ((cost.left - (costOf(own.input, price) ?? 0)) * 1_000_000) / price.output, hit: cost.hit }]
      : []),
  ];
  const least = rooms.reduce<(typeof rooms)[number] | undefined>(
    (narrowest, room) => (narrowest && narrowest.tokens <= room.tokens ? narrowest : room),
    undefined,
  );
  if (!least || least.tokens >= (request.maxOutputTokens ?? SHORT_ANSWER)) return undefined;
  return { tokens: Math.max(SHORTEST_ANSWER, Math.floor(least.tokens)), hit: least.hit };
}
