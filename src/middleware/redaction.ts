import { maskKeys } from '../models/secrets.ts';
import { defineMiddleware, type Middleware } from '../session/middleware.ts';

/**
 * Masks keys in what tools give back, before it is logged or sent: values of the environment's secret
 * variables, and whatever is a key by its shape. Outermost, so that nothing passes it by.
 */
export function redaction(secrets: readonly string[]): Middleware {
  return defineMiddleware({
    name: 'redaction',
    async aroundTool(run, next) {
      const outcome = await next(run);
      const content = maskKeys(outcome.content, secrets);
      return outcome.full === undefined
        ? { ...outcome, content }
        : { ...outcome, content, full: maskKeys(outcome.full, secrets) };
    },
  });
}
