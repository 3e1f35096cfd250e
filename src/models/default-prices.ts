import type { Price } from '../core/usage.ts';

interface Row {
  /** Exact names: an alias and the dated snapshots that it has stood for. */
  models: readonly string[];
  price: Price;
}

const price = (input: number, cacheRead: number, output: number, cacheWrite?: number): Price => ({
  input,
  output,
  cache_read: cacheRead,
  ...(cacheWrite === undefined ? {} : { cache_write: cacheWrite }),
});

/**
 * List prices in US dollars a million tokens, by the host of the vendor's own API, as of 2026-11-30. Not
 * here, because one figure would be wrong: models whose price depends on the length of the prompt
 * (gpt-5.4 and newer, claude-haiku-5-5) or on the hour (DeepSeek), and models whose price was not to be
 * confirmed on the vendor's own page (claude-opus-5-5, claude-sonnet-5-5). Batch, priority and regional
 * prices differ, too: `prices` of the provider says so.
 */
const PRICES: Readonly<Record<string, readonly Row[]>> = {
  // https://platform.claude.com/docs/en/about-claude/pricing; writes are those of the five-minute cache, which we use.
  'api.anthropic.com': [
    { models: ['claude-fable-5'], price: price(10, 1, 50, 12.5) },
    {
      models: [
        'claude-opus-5',
        'claude-opus-4-8',
        'claude-opus-4-7',
        'claude-opus-4-6',
        'claude-opus-4-5',
        'claude-opus-4-5-20251101',
      ],
      price: price(5, 0.5, 25, 6.25),
    },
    { models: ['claude-opus-4-1', 'claude-opus-4-1-20250805'], price: price(15, 1.5, 75, 18.75) },
    { models: ['claude-sonnet-5'], price: price(2, 0.2, 10, 2.5) },
    {
      models: ['claude-sonnet-4-6', 'claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
      price: price(3, 0.3, 15, 3.75),
    },
    { models: ['claude-haiku-4-5', 'claude-haiku-4-5-20251001'], price: price(1, 0.1, 5, 1.25) },
  ],
  // https://developers.openai.com/api/docs/pricing
  'api.openai.com': [
    { models: ['gpt-5.2', 'gpt-5.2-2025-12-11'], price: price(1.75, 0.175, 14) },
    {
      models: ['gpt-5.1', 'gpt-5.1-2025-11-13', 'gpt-5', 'gpt-5-2025-08-07'],
      price: price(1.25, 0.125, 10),
    },
    { models: ['gpt-5-mini', 'gpt-5-mini-2025-08-07'], price: price(0.25, 0.025, 2) },
    { models: ['gpt-5-nano', 'gpt-5-nano-2025-08-07'], price: price(0.05, 0.005, 0.4) },
    { models: ['gpt-4.1', 'gpt-4.1-2025-04-14'], price: price(2, 0.5, 8) },
    { models: ['gpt-4.1-mini', 'gpt-4.1-mini-2025-04-14'], price: price(0.4, 0.1, 1.6) },
    { models: ['gpt-4.1-nano', 'gpt-4.1-nano-2025-04-14'], price: price(0.1, 0.025, 0.4) },
    { models: ['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'], price: price(2.5, 1.25, 10) },
    { models: ['gpt-4o-mini', 'gpt-4o-mini-2024-07-18'], price: price(0.15, 0.075, 0.6) },
    { models: ['o3', 'o3-2025-04-16'], price: price(2, 0.5, 8) },
    { models: ['o4-mini', 'o4-mini-2025-04-16'], price: price(1.1, 0.275, 4.4) },
  ],
};

const byHost = new Map(
  Object.entries(PRICES).map(([host, rows]) => [
    host,
    new Map(rows.flatMap(({ models, price }) => models.map((model) => [model, price] as const))),
  ]),
);

/** The list price of a model at its vendor's own API: by the exact host and the exact name. */
export const defaultPrice = (host: string, model: string): Price | undefined => byHost.get(host)?.get(model);
