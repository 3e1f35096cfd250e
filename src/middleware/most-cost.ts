import { costOf, type Usage } from '../core/usage.ts';
import type { ResolvedModel } from '../models/contract.ts';

/** What so much use costs at most, whoever answers in the place of a model; unknown when one of their prices is. */
export function mostCost({ price, fallbacks = [] }: ResolvedModel, usage: Usage): number | undefined {
  let most: number | undefined = 0;
  for (const each of [price, ...fallbacks.map((fallback) => fallback.price)]) {
    const cost = costOf(usage, each);
    most = cost === undefined || most === undefined ? undefined : Math.max(most, cost);
  }
  return most;
}
