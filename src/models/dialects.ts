/** Where a chat-completions server differs from the others. */
export interface Dialect {
  name: string;
  /** Variable that holds the key when the configuration names none. */
  keyVariable?: string | undefined;
  /** The name of the limit on answer tokens. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** How effort is asked for; `none` drops it. */
  effort: 'reasoning_effort' | 'reasoning' | 'none';
  /**
   * Which assistant messages carry their reasoning back. `received`: those that had some and asked for
   * tools, in the field it came in. `calls`: all with tool calls, `always`: all, even when it was empty.
   */
  reasoningBack: 'never' | 'received' | 'calls' | 'always';
  /** Sends `prompt_cache_key`, which routes the requests of a session to one cache. */
  cacheKey: boolean;
}

const COMPATIBLE: Dialect = {
  name: 'compatible',
  maxTokens: 'max_tokens',
  effort: 'reasoning_effort',
  reasoningBack: 'received',
  cacheKey: false,
};

interface DialectRow {
  host: RegExp;
  /** Limits the row to these models. */
  model?: RegExp;
  dialect: Dialect;
}

/**
 * The known servers, by host; the first row that fits counts. A server on another host that is named
 * like one of them (`name = "deepseek"` behind a proxy) is treated like it.
 *
 * DeepSeek, https://api-docs.deepseek.com/guides/thinking_mode: since V3.2, a message with tool calls
 * must come back with its `reasoning_content`, and V4 refuses a history in which only some messages
 * have the field, empty ones included; for messages without calls it is ignored. The older
 * `deepseek-reasoner` refuses it on messages without calls.
 */
const ROWS: readonly DialectRow[] = [
  {
    host: /(^|\.)openai(\.com$|$)/,
    dialect: {
      name: 'openai',
      keyVariable: 'OPENAI_API_KEY',
      maxTokens: 'max_completion_tokens',
      effort: 'reasoning_effort',
      reasoningBack: 'never',
      cacheKey: true,
    },
  },
  {
    host: /(^|\.)deepseek(\.com$|$)/,
    model: /reasoner/,
    dialect: {
      ...COMPATIBLE,
      name: 'deepseek-reasoner',
      keyVariable: 'DEEPSEEK_API_KEY',
      effort: 'none',
      reasoningBack: 'calls',
    },
  },
  {
    host: /(^|\.)deepseek(\.com$|$)/,
    dialect: { ...COMPATIBLE, name: 'deepseek', keyVariable: 'DEEPSEEK_API_KEY', reasoningBack: 'always' },
  },
  {
    host: /(^|\.)openrouter(\.ai$|$)/,
    dialect: { ...COMPATIBLE, name: 'openrouter', keyVariable: 'OPENROUTER_API_KEY', effort: 'reasoning' },
  },
  {
    host: /(^|\.)moonshot(\.(ai|cn)$|$)/,
    dialect: {
      ...COMPATIBLE,
      name: 'moonshot',
      keyVariable: 'MOONSHOT_API_KEY',
      reasoningBack: 'calls',
      effort: 'none',
    },
  },
  {
    host: /(^|\.)mistral(\.ai$|$)/,
    dialect: { ...COMPATIBLE, name: 'mistral', keyVariable: 'MISTRAL_API_KEY', reasoningBack: 'never', effort: 'none' },
  },
  {
    host: /(^|\.)groq(\.com$|$)/,
    dialect: { ...COMPATIBLE, name: 'groq', keyVariable: 'GROQ_API_KEY', reasoningBack: 'never' },
  },
];

/** A provider that is called `openai` and has a URL of its own may be anything. */
const COMPATIBLE_ROWS = ROWS.filter(({ dialect }) => dialect.name !== 'openai');

const OPENAI_URL = 'https://api.openai.com/v1';

/** The dialect of a server: by the host of its URL, else by the provider's name. */
export function dialectOf(server: { name: string; baseUrl?: string | undefined; model?: string | undefined }): Dialect {
  const { name, baseUrl = OPENAI_URL, model = '' } = server;
  const find = (text: string, rows: readonly DialectRow[]) =>
    rows.find((row) => row.host.test(text) && (row.model?.test(model) ?? true))?.dialect;
  return find(hostOf(baseUrl), ROWS) ?? find(name.toLowerCase(), COMPATIBLE_ROWS) ?? COMPATIBLE;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}
