/** What a provider sets for requests that say nothing themselves. */
export interface RequestSettings {
  /** Tokens of an answer at most. */
  maxOutputTokens?: number | undefined;
  /** Tokens that a model is known to answer with at most. */
  mostOutput?: ((model: string) => number | undefined) | undefined;
  effort?: string | undefined;
  /** Tokens to think with, where a model takes a budget; 0 for no thinking. */
  thinking?: number | undefined;
  /** False: one tool call a step. Default: as the server does it. */
  parallelTools?: boolean | undefined;
  /** Whether pictures in tool results are sent. Default by server and model. */
  images?: boolean | undefined;
  /** False: answers come in one piece. Default true. */
  stream?: boolean | undefined;
}

/** What a wire needs to know of its provider. */
export interface WireOptions extends RequestSettings {
  /** The provider's name, for errors and dialects. */
  name: string;
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  /** Variable that the key came from, for the hint of a refused key. */
  keyVariable?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Milliseconds without a byte after which a stream is given up; default 300,000. */
  idleTimeout?: number | undefined;
  /** Milliseconds that an answer which is not streamed may take to begin; default 1,800,000. */
  answerTimeout?: number | undefined;
}

/** Values that must never appear in an error: the key, and every header that the user set. */
export function secretsOf({ apiKey, headers }: WireOptions): string[] {
  return [...(apiKey ? [apiKey] : []), ...Object.values(headers ?? {}).filter((value) => value.length >= 8)];
}

/**
 * Makes an SDK's client as if the environment did not have `variable`. What it has there for a vendor may
 * be a key, and the SDK would send it to any server; options cannot tell it otherwise.
 */
export function withoutVariable<Client>(variable: string, make: () => Client): Client {
  const value = process.env[variable];
  if (value === undefined) return make();
  delete process.env[variable];
  try {
    return make();
  } finally {
    process.env[variable] = value;
  }
}
