import type { Price } from '../core/usage.ts';
import type { ProviderSettings } from './contract.ts';

/** The price of a model in its provider's table. A model that is not in it has no price: none is guessed. */
export function priceOf(settings: ProviderSettings, model: string): Price | undefined {
  const { prices } = settings;
  return prices && Object.hasOwn(prices, model) ? prices[model] : undefined;
}
