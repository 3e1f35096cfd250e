/**
 * Tokens of model calls, normalised over providers. `input` counts every prompt token, cached ones
 * included; `cache_read` and `cache_write` say how many of them were served from or written to the
 * provider's cache. `output` includes `reasoning`.
 */
export interface Usage {
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  reasoning: number;
}

export const noUsage = (): Usage => ({ input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 });

export function addUsage(left: Usage, right: Usage): Usage {
  return {
    input: left.input + right.input,
    output: left.output + right.output,
    cache_read: left.cache_read + right.cache_read,
    cache_write: left.cache_write + right.cache_write,
    reasoning: left.reasoning + right.reasoning,
  };
}

/** What a token budget counts: prompt tokens and answer tokens, each once. */
export const totalTokens = (usage: Usage): number => usage.input + usage.output;

/** Prices in a currency unit per million tokens. A missing cache price means the input price. */
export interface Price {
  input: number;
  output: number;
  cache_read?: number | undefined;
  cache_write?: number | undefined;
}

/** Cost of `usage`, or `undefined` when the price is not known: never a guess, never zero. */
export function costOf(usage: Usage, price: Price | undefined): number | undefined {
  if (!price) return undefined;
  const plainInput = usage.input - usage.cache_read - usage.cache_write;
  return (
    (plainInput * price.input +
      usage.cache_read * (price.cache_read ?? price.input) +
      usage.cache_write * (price.cache_write ?? price.input) +
      usage.output * price.output) /
    1_000_000
  );
}

/** A sum of costs; with an unknown part it is unknown. */
export function addCost(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right;
}
