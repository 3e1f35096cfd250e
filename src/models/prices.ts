import { costOf, type Price } from '../core/usage.ts';
import type { ModelReply, ProviderSettings, ResolvedModel } from './contract.ts';
import { defaultPrice } from './default-prices.ts';

/** Where a kind's server is when the configuration names none. */
const OWN_URL: Readonly<Record<ProviderSettings['kind'], string>> = {
  anthropic: 'https://api.anthropic.com',
  openai: 'https://api.openai.com',
  responses: 'https://api.openai.com',
  scripted: '',
};

/**
 * The price of a model: what its provider's table says of it; without a table, and when `useDefaults` is
 * not false, the vendor's list price. Any other model has no price: none is guessed.
 */
export function priceOf(settings: ProviderSettings, model: string, useDefaults = true): Price | undefined {
  const { prices, kind, base_url: url = OWN_URL[kind] } = settings;
  if (prices) return Object.hasOwn(prices, model) ? prices[model] : undefined;
  return useDefaults && URL.canParse(url) ? defaultPrice(new URL(url).hostname, model) : undefined;
}

/** What an answer cost: by the price of the model that gave it, which may be a fallback. Unknown without a price. */
export function costOfReply(model: ResolvedModel, reply: ModelReply): number | undefined {
  const { answeredBy } = reply;
  if (answeredBy === undefined) return costOf(reply.usage, model.price);
  return costOf(reply.usage, model.fallbacks?.find(({ name }) => name === answeredBy)?.price);
}
