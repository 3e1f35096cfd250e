import type { Usage } from '../core/usage.ts';

/** Counts as a server told them: each may be absent, a text, or nonsense. */
export type TheirCounts = Readonly<Partial<Record<keyof Usage, unknown>>>;

/** A number of tokens, 0 for whatever is none. */
export function tokenCount(value: unknown): number {
  const count = typeof value === 'string' ? Number(value) : value;
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? Math.round(count) : 0;
}

/**
 * Usage that can be added up and charged. A request without a token and an answer without one do not exist:
 * where a server says 0, or nothing, the estimate counts, or no budget would ever be used up. What came from
 * a cache, or was thought, is never more than the whole: a cost could be negative.
 */
export function normalUsage(counts: TheirCounts, estimate: () => Usage): Usage {
  const cacheRead = tokenCount(counts.cache_read);
  const cacheWrite = tokenCount(counts.cache_write);
  const reasoning = tokenCount(counts.reasoning);
  const input = Math.max(tokenCount(counts.input), cacheRead + cacheWrite);
  const output = Math.max(tokenCount(counts.output), reasoning);
  const guess = input === 0 || output === 0 ? estimate() : undefined;
  return {
    input: input || (guess?.input ?? 0),
    output: output || (guess?.output ?? 0),
    cache_read: cacheRead,
    cache_write: cacheWrite,
    reasoning: output === 0 ? (guess?.reasoning ?? 0) : reasoning,
  };
}
