import type { ModelRequest } from './contract.ts';
import type { RequestSettings } from './wire.ts';

/**
 * Tokens that an answer may have: what the request asks for, but never more than the provider is configured
 * with or the model is known to give. `undefined` leaves it to the server.
 */
export function outputLimit(
  { maxOutputTokens, model }: ModelRequest,
  { maxOutputTokens: configured, mostOutput }: RequestSettings,
  otherwise?: number,
): number | undefined {
  const wanted = Math.min(maxOutputTokens ?? Number.POSITIVE_INFINITY, configured ?? Number.POSITIVE_INFINITY);
  const limit = Number.isFinite(wanted) ? wanted : otherwise;
  return limit === undefined ? undefined : Math.min(limit, mostOutput?.(model) ?? limit);
}

/** Tokens of an answer on the messages wire, which must be told a number. */
export const defaultMaxTokens = (model: string): number =>
  /claude/.test(model) && !/claude-(?:2|3|instant)/.test(model) ? 32_000 : 8_192;
