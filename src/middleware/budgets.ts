import { LimitReached } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
import { costOf, totalTokens } from '../core/usage.ts';
import { defineMiddleware, type Middleware } from '../session/middleware.ts';

/**
 * Stops a turn before the model call that its budget has no room for, and charges each call up the
 * tree. The summing-up after a limit is charged but not stopped.
 */
export function budgets(): Middleware {
  return defineMiddleware({
    name: 'budgets',
    async aroundModel(call, next) {
      const { budget } = call.turn;
      if (budget.limits('cost') && !call.model.price) {
        throw new ReasonixError('config', `a cost limit is set, but the price of ${call.model.model} is not known`, {
          hint: `set prices for it in the provider ${call.model.provider}, or use a token limit`,
        });
      }
      const hit = call.isLast ? undefined : budget.exhausted();
      if (hit) throw new LimitReached(hit);
      const reply = await next(call);
      budget.charge({ steps: 1, tokens: totalTokens(reply.usage), cost: costOf(reply.usage, call.model.price) ?? 0 });
      return reply;
    },
  });
}
