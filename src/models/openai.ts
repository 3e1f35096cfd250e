import type OpenAI from 'openai';
import { attempt } from './attempt.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from './contract.ts';
import { dialectOf } from './dialects.ts';
import { toOpenAIBody } from './openai-body.ts';
import { ChatCollector } from './openai-stream.ts';
import { watchedFetch } from './watched-fetch.ts';
import type { WireOptions } from './wire.ts';

/** Chat completions, of OpenAI or any server that speaks like it. One call is one attempt. */
export function openaiClient(options: WireOptions): ModelClient {
  return new ChatClient(options);
}

class ChatClient implements ModelClient {
  readonly provider: string;
  readonly #options: WireOptions;
  #sdk: Promise<OpenAI> | undefined;

  constructor(options: WireOptions) {
    this.provider = options.name;
    this.#options = options;
  }

  generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply> {
    const { name, baseUrl, maxOutputTokens } = this.#options;
    const collector = new ChatCollector();
    return attempt(this.#options, request, options, collector, async ({ watch, read }) => {
      const dialect = dialectOf({ name, baseUrl, model: request.model });
      const sdk = await this.#load();
      const body = toOpenAIBody(request, { dialect, maxOutputTokens });
      const { signal, fetchOptions } = watch;
      await read(await sdk.chat.completions.create(body, { signal, fetchOptions }));
      return collector.reply(request);
    });
  }

  #load(): Promise<OpenAI> {
    this.#sdk ??= this.#create();
    return this.#sdk;
  }

  async #create(): Promise<OpenAI> {
    const { default: Client } = await import('openai');
    const { baseUrl, apiKey, headers, name } = this.#options;
    return new Client({
      baseURL: baseUrl ?? 'https://api.openai.com/v1',
      // A server without keys gets no header; the SDK wants a value all the same.
      apiKey: apiKey ?? 'none',
      defaultHeaders: { ...(apiKey === undefined ? { Authorization: null } : {}), ...headers },
      // What the environment says of OpenAI is not for other servers.
      ...(dialectOf({ name, baseUrl }).name === 'openai' ? {} : { organization: null, project: null }),
      adminAPIKey: null,
      fetch: watchedFetch,
      maxRetries: 0,
      // Silence is watched by ourselves, to the byte.
      timeout: 2 ** 31 - 1,
      logLevel: 'off',
    });
  }
}
