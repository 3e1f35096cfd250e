import type { Message, ToolCall, ToolDefinition } from '../core/messages.ts';
import type { Price, Usage } from '../core/usage.ts';

/** What one model call sends. The order of the fields is the order of the prompt's bytes. */
export interface ModelRequest {
  tools: ToolDefinition[];
  system: string;
  messages: Message[];
  model: string;
  /** `none` keeps the tools in the prompt, for the cache, and forbids calling them. Default `auto`. */
  toolChoice?: 'auto' | 'none' | undefined;
  /** Over the provider's setting. */
  effort?: string | undefined;
  /** Tokens to think with, where a model takes a budget; over the provider's setting. */
  thinking?: number | undefined;
  maxOutputTokens?: number | undefined;
  /** The session that asks; the scripted model and cache routing look at it. */
  session: string;
  /** The root of its tree: roots take turns where requests are bounded. Default: all that name none are one. */
  root?: string | undefined;
  /** The skill whose body is the system prompt, for a child. */
  skill?: string | undefined;
}

/** A piece of a streamed answer, for display only: nothing is decided on it. */
export type ModelDelta =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'retry'; attempt: number; delay: number; reason: string }
  /** Another model is asked in place of the one that failed for good. */
  | { type: 'fallback'; from: string; to: string; reason: string };

export interface ModelReply {
  text: string;
  reasoning?: string | undefined;
  toolCalls: ToolCall[];
  providerState?: unknown;
  usage: Usage;
  /** The model as the provider names it in its answer. */
  model: string;
  /** `stop`, `tool_calls`, `length`, `content_filter` or what the provider said. */
  finishReason: string;
  /** `provider/model` that was asked first, when a fallback model answered in its place. */
  fallbackFrom?: string | undefined;
  /** `provider/model` of the fallback model that answered. */
  answeredBy?: string | undefined;
}

export interface GenerateOptions {
  signal: AbortSignal;
  onDelta?: ((delta: ModelDelta) => void) | undefined;
}

/** One provider's wire. An implementation makes one attempt; `withRetry` wraps it. */
export interface ModelClient {
  readonly provider: string;
  /** @throws ReasonixError `provider` and its kin; `details.retryable`, `details.retryAfter` (ms) and `details.partialText` where known. */
  generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply>;
}

/** A `[[providers]]` entry, validated. */
export interface ProviderSettings {
  name: string;
  kind: 'openai' | 'responses' | 'anthropic' | 'scripted';
  base_url?: string | undefined;
  /** The first is the provider's default. `*`, or an empty list, accepts any other name, too. */
  models: string[];
  /** Name of the environment variable that holds the key. */
  api_key_env?: string | undefined;
  /** Tokens; default what is known of the model, else 128,000. */
  context_window?: number | undefined;
  max_output_tokens?: number | undefined;
  prices?: Record<string, Price> | undefined;
  headers?: Record<string, string> | undefined;
  /** Effort of requests that name none. */
  effort?: string | undefined;
  /** Tokens to think with, of requests that name no number. */
  thinking?: number | undefined;
  /** False: one tool call a step. Default: as the server does it. */
  parallel_tools?: boolean | undefined;
  /** Whether pictures in tool results are sent. Default by server and model. */
  images?: boolean | undefined;
  /** False: answers are asked for in one piece. Default true. */
  stream?: boolean | undefined;
  /** Requests, retries included, in any 60 seconds; 0 or absent: as many as come. */
  requests_per_minute?: number | undefined;
  /** kind `scripted`: the YAML file of rules. */
  script?: string | undefined;
}

/** What a request to a model has to fit in. */
export interface ModelWindow {
  /** Tokens of a request with its answer. */
  contextWindow: number;
  /** True when the window is configured, or known of the model, and not the default. */
  isWindowKnown?: boolean | undefined;
  /** Tokens of the window that are kept free for the answer; default none. */
  answerTokens?: number | undefined;
}

/** A model ready to be asked: what `Models.resolve` finds for a name. */
export interface ResolvedModel extends ModelWindow {
  client: ModelClient;
  provider: string;
  model: string;
  price: Price | undefined;
  /** Models that answer when this one fails for good, in order. */
  fallbacks?: readonly FallbackModel[] | undefined;
  /** Of this model and its fallbacks the one that a request of about so many tokens would go to now. */
  next?: ((tokens: number) => ModelWindow & { name: string }) | undefined;
}

export interface FallbackModel extends ModelWindow {
  /** `provider/model`. */
  name: string;
  price: Price | undefined;
}

/** The models of a runtime. Providers are built, and their SDKs loaded, when first asked. */
export interface Models {
  /**
   * Finds `provider/model`, `model`, or a provider's name (its first model); the default without a name.
   * @throws ReasonixError `model_not_found` with the nearest names, `provider_auth` naming the missing variable.
   */
  resolve(name?: string): Promise<ResolvedModel>;
}
