/** Where a chat-completions server differs from the others. */
export interface Dialect {
  name: string;
  /** Variable that holds the key when the configuration names none. */
  keyVariable?: string | undefined;
  /** The name of the limit on answer tokens. */
  maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** How effort is asked for, see `effortFields`; `none` drops it. */
  effort: EffortStyle;
  /**
   * Which assistant messages carry their reasoning back. `received`: those that had some and asked for
   * tools, in the field it came in. `calls`: all with tool calls, `always`: all, even when it was empty.
   * `chunks`: those whose reasoning came as a part of their content, as that part.
   */
  reasoningBack: 'never' | 'received' | 'calls' | 'always' | 'chunks';
  /** Sends `prompt_cache_key`, which routes the requests of a session to one cache. */
  cacheKey: boolean;
  /** Takes `stream_options`; one that does not tells the usage all the same. */
  streamOptions: boolean;
  /** Knows `parallel_tool_calls`. It is only sent when the configuration says something. */
  parallelTools: boolean;
  /** What ids of calls must be for the server to take them; without it, whatever they are. */
  callIds?: RegExp | undefined;
  /** Takes pictures; `model`: as far as the model does. */
  images: boolean | 'model';
}

/**
 * `reasoning_effort`: the field of that name, as given. `reasoning`: an object with `effort` or, for a
 * budget, `max_tokens`. `thinking`: a switch, and `reasoning_effort` beside it. `switch`: the switch alone.
 * `template`: `reasoning_effort`, and the variable that chat templates know. `high-or-none`: no level between.
 */
type EffortStyle = 'none' | 'reasoning_effort' | 'reasoning' | 'thinking' | 'switch' | 'template' | 'high-or-none';

/** A server that nobody knows, which speaks as most do. */
const COMPATIBLE: Dialect = {
  name: 'compatible',
  maxTokens: 'max_tokens',
  effort: 'reasoning_effort',
  reasoningBack: 'received',
  cacheKey: false,
  streamOptions: true,
  parallelTools: true,
  images: 'model',
};

/** OpenAI takes no longer ids of calls, as other servers make them: https://github.com/vercel/ai/issues/8132 */
const FORTY = /^.{1,40}$/s;

/** Reasoning is not returned on this wire; the Responses wire carries it. */
const OWN: Dialect = {
  ...COMPATIBLE,
  name: 'openai',
  keyVariable: 'OPENAI_API_KEY',
  maxTokens: 'max_completion_tokens',
  reasoningBack: 'never',
  cacheKey: true,
  callIds: FORTY,
};

interface DialectRow {
  /** Fits a host name, or the name of a provider. */
  host: RegExp;
  /** A port on which nothing else listens. */
  port?: string;
  /** Limits the row to these models. */
  model?: RegExp;
  dialect: Dialect;
}

/** OpenAI's models that do not reason, and refuse to be asked for reasoning. */
export const NO_REASONING = /(?:^|\/)(?:gpt-[34]|chatgpt|gpt-5(?:\.\d+)?-chat)/;

const OPENAI = /(^|\.)openai(\.com$|$)/;
const DEEPSEEK = /(^|\.)deepseek(\.com$|$)/;
const MISTRAL = /(^|\.)mistral(\.ai$|$)/;

/**
 * The known servers, by host; the first row that fits counts. A server on another host that is named
 * like one of them (`name = "deepseek"` behind a proxy) is treated like it.
 */
const ROWS: readonly DialectRow[] = [
  { host: OPENAI, model: NO_REASONING, dialect: { ...OWN, effort: 'none' } },
  { host: OPENAI, dialect: OWN },
  {
    // https://api-docs.deepseek.com/guides/thinking_mode: the older model refuses reasoning on messages without calls.
    host: DEEPSEEK,
    model: /reasoner/,
    dialect: {
      ...COMPATIBLE,
      name: 'deepseek-reasoner',
      keyVariable: 'DEEPSEEK_API_KEY',
      effort: 'none',
      reasoningBack: 'calls',
      parallelTools: false,
      images: false,
    },
  },
  {
    // https://api-docs.deepseek.com/guides/thinking_mode: since V3.2 a message with calls must come back with its
    // reasoning_content, and V4 refuses a history in which only some messages have the field, empty ones included.
    // Thinking is on unless switched off. While it is, tool_choice takes `none` and `auto` alone:
    // https://github.com/osaurus-ai/osaurus/pull/1940
    host: DEEPSEEK,
    dialect: {
      ...COMPATIBLE,
      name: 'deepseek',
      keyVariable: 'DEEPSEEK_API_KEY',
      effort: 'thinking',
      reasoningBack: 'always',
      parallelTools: false,
    },
  },
  {
    // https://openrouter.ai/docs/use-cases/reasoning-tokens
    host: /(^|\.)openrouter(\.ai$|$)/,
    dialect: {
      ...COMPATIBLE,
      name: 'openrouter',
      keyVariable: 'OPENROUTER_API_KEY',
      effort: 'reasoning',
      callIds: FORTY,
    },
  },
  {
    // https://docs.ollama.com/api/openai-compatibility lists the fields it reads; parallel_tool_calls is none of them.
    host: /^ollama(\.com$|$)/,
    port: '11434',
    dialect: { ...COMPATIBLE, name: 'ollama', parallelTools: false },
  },
  {
    // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md: effort `none` switches thinking off,
    // any other goes to the template. Several calls a step only when parallel_tool_calls asks for them:
    // https://github.com/ggml-org/llama.cpp/pull/21890
    host: /^llama[._-]?(cpp|server)$/,
    dialect: { ...COMPATIBLE, name: 'llama.cpp' },
  },
  {
    // https://docs.vllm.ai/en/latest/features/reasoning_outputs.html: hybrid models think by a variable of their template.
    host: /^vllm\b/,
    dialect: { ...COMPATIBLE, name: 'vllm', effort: 'template' },
  },
  {
    // https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model: "reasoning_content is missing" is an error;
    // thinking is a switch, on unless it is switched off.
    host: /(^|\.)moonshot(\.(ai|cn)$|$)/,
    dialect: {
      ...COMPATIBLE,
      name: 'moonshot',
      keyVariable: 'MOONSHOT_API_KEY',
      reasoningBack: 'calls',
      effort: 'switch',
      parallelTools: false,
    },
  },
  {
    // https://docs.mistral.ai/studio-api/conversations/reasoning: models whose reasoning can be set.
    host: MISTRAL,
    model: /^mistral-(small-latest|medium-3-5)/,
    dialect: mistral('high-or-none'),
  },
  { host: MISTRAL, dialect: mistral('none') },
  {
    host: /(^|\.)groq(\.com$|$)/,
    dialect: { ...COMPATIBLE, name: 'groq', keyVariable: 'GROQ_API_KEY', reasoningBack: 'never' },
  },
];

/**
 * Refuses what it does not know: https://github.com/openai/openai-agents-python/issues/442 for
 * stream_options, https://github.com/editor-code-assistant/eca/issues/231 for max_completion_tokens. Usage
 * comes with the last chunk. Thinking is a part of the content, and goes back as one:
 * https://docs.mistral.ai/capabilities/reasoning, ThinkChunk of https://docs.mistral.ai/api. A user's message cannot follow a result there, so that pictures have no place.
 * Ids of calls that we or other servers made are refused: https://github.com/langchain-ai/langchain/pull/24668
 */
function mistral(effort: EffortStyle): Dialect {
  return {
    ...COMPATIBLE,
    name: 'mistral',
    keyVariable: 'MISTRAL_API_KEY',
    reasoningBack: 'chunks',
    effort,
    streamOptions: false,
    callIds: /^[a-zA-Z0-9]{9}$/,
    images: false,
  };
}

/** The fields that ask for effort, and for a budget of thinking where one can be given. Effort `none`: do not think. */
export function effortFields(
  style: EffortStyle,
  effort: string | undefined,
  budget: number | undefined,
): Record<string, unknown> {
  const level = budget === 0 ? 'none' : effort;
  if (style === 'reasoning' && budget) return { reasoning: { max_tokens: budget } };
  if (level === undefined || style === 'none') return {};
  const isOff = level === 'none';
  switch (style) {
    case 'reasoning_effort':
      return { reasoning_effort: level };
    case 'reasoning':
      return { reasoning: { effort: level } };
    case 'thinking':
      return isOff ? { thinking: { type: 'disabled' } } : { thinking: { type: 'enabled' }, reasoning_effort: level };
    case 'switch':
      return isOff ? { thinking: { type: 'disabled' } } : {};
    case 'template':
      return isOff
        ? { chat_template_kwargs: { enable_thinking: false } }
        : { reasoning_effort: level, chat_template_kwargs: { enable_thinking: true } };
    case 'high-or-none':
      return { reasoning_effort: isOff ? 'none' : 'high' };
  }
}

/** A provider that is called `openai` and has a URL of its own may be anything. */
const COMPATIBLE_ROWS = ROWS.filter(({ dialect }) => dialect.name !== 'openai');

const OPENAI_URL = 'https://api.openai.com/v1';

/** The dialect of a server: by the host of its URL, else by the provider's name. */
export function dialectOf(server: { name: string; baseUrl?: string | undefined; model?: string | undefined }): Dialect {
  const { name, baseUrl = OPENAI_URL, model = '' } = server;
  const { hostname, port } = URL.canParse(baseUrl) ? new URL(baseUrl) : { hostname: '', port: '' };
  const fits = (row: DialectRow, text: string): boolean => row.host.test(text) && (row.model?.test(model) ?? true);
  const found =
    ROWS.find((row) => fits(row, hostname)) ??
    COMPATIBLE_ROWS.find((row) => fits(row, name.toLowerCase())) ??
    ROWS.find((row) => row.port !== undefined && row.port === port);
  return found?.dialect ?? COMPATIBLE;
}
