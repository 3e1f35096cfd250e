import { costOf, type Price } from '../core/usage.ts';
import type { ModelReply, ProviderSettings, ResolvedModel } from './contract.ts';
import { defaultPrice } from './default-prices.ts';
import { hostOf } from './hosts.ts';

/**
 * The price of a model: what its provider's table says of it; without a table, and when `useDefaults` is
 * not false, the vendor's list price. Any other model has no price: none is guessed.
 */
export function priceOf(settings: ProviderSettings, model: string, useDefaults = true): Price | undefined {
  const { prices } = settings;
  if (prices) return Object.hasOwn(prices, model) ? prices[model] : undefined;
  return useDefaults ? defaultPrice(hostOf(settings), model) : undefined;
}

/** What an answer cost: by the price of the model that gave it, which may be a fallback. Unknown without a price. */
export function costOfReply(model: ResolvedModel, reply: ModelReply): number | undefined {
  const { answeredBy } = reply;
  if (answeredBy === undefined) return costOf(reply.usage, model.price);
  return costOf(reply.usage, model.fallbacks?.find(({ name }) => name === answeredBy)?.price);
}
