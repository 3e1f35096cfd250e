/** What a model takes at most, in tokens. */
export interface ModelLimits {
  /** Request and answer together. */
  window: number;
  /** One answer, with its reasoning. */
  output: number;
  /** The request alone, where that is less than the window. */
  input?: number | undefined;
}

interface Row extends ModelLimits {
  /** Exact names: an alias and the dated snapshots that it has stood for. */
  models: readonly string[];
}

const MILLION = { window: 1_000_000, output: 128_000 };

/**
 * Limits by the host of the vendor's own API, as of 2026-11-30. Not here: models whose prompts cost more
 * beyond a length that is shorter than their window (gpt-5.4 and newer), where the whole window is a choice
 * to be made by `context_window`.
 */
const LIMITS: Readonly<Record<string, readonly Row[]>> = {
  // https://platform.claude.com/docs/en/about-claude/models/overview and the page of each model.
  'api.anthropic.com': [
    {
      ...MILLION,
      models: [
        'claude-fable-5-1',
        'claude-fable-5',
        'claude-opus-5-5',
        'claude-opus-5',
        'claude-opus-4-8',
        'claude-opus-4-7',
        'claude-opus-4-6',
        'claude-sonnet-5-5',
        'claude-sonnet-5',
        'claude-sonnet-4-6',
        'claude-haiku-5-5',
      ],
    },
    {
      window: 200_000,
      output: 64_000,
      models: [
        'claude-opus-4-5',
        'claude-opus-4-5-20251101',
        'claude-sonnet-4-5',
        'claude-sonnet-4-5-20250929',
        'claude-haiku-4-5',
        'claude-haiku-4-5-20251001',
        'claude-sonnet-4-20250514',
        'claude-3-7-sonnet-20250219',
      ],
    },
    {
      window: 200_000,
      output: 32_000,
      models: ['claude-opus-4-1', 'claude-opus-4-1-20250805', 'claude-opus-4-20250514'],
    },
    { window: 200_000, output: 8_192, models: ['claude-3-5-haiku-20241022', 'claude-3-5-sonnet-20241022'] },
    { window: 200_000, output: 4_096, models: ['claude-3-haiku-20240307'] },
  ],
  // https://developers.openai.com/api/docs/models and the page of each model.
  'api.openai.com': [
    {
      window: 400_000,
      output: 128_000,
      input: 272_000,
      models: [
        'gpt-5.2',
        'gpt-5.2-2025-12-11',
        'gpt-5.1',
        'gpt-5.1-2025-11-13',
        'gpt-5',
        'gpt-5-2025-08-07',
        'gpt-5-mini',
        'gpt-5-mini-2025-08-07',
        'gpt-5-nano',
        'gpt-5-nano-2025-08-07',
      ],
    },
    {
      window: 1_047_576,
      output: 32_768,
      models: [
        'gpt-4.1',
        'gpt-4.1-2025-04-14',
        'gpt-4.1-mini',
        'gpt-4.1-mini-2025-04-14',
        'gpt-4.1-nano',
        'gpt-4.1-nano-2025-04-14',
      ],
    },
    {
      window: 128_000,
      output: 16_384,
      models: ['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20', 'gpt-4o-mini', 'gpt-4o-mini-2024-07-18'],
    },
    { window: 200_000, output: 100_000, models: ['o3', 'o3-2025-04-16', 'o4-mini', 'o4-mini-2025-04-16'] },
  ],
};

const byHost = new Map(
  Object.entries(LIMITS).map(([host, rows]) => [
    host,
    new Map(rows.flatMap(({ models, ...limits }) => models.map((model): [string, ModelLimits] => [model, limits]))),
  ]),
);

/** What a model takes at its vendor's own API: by the exact host and the exact name. */
export const defaultLimits = (host: string, model: string): ModelLimits | undefined => byHost.get(host)?.get(model);
