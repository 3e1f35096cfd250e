import type Anthropic from '@anthropic-ai/sdk';
import type { ClientOptions } from '@anthropic-ai/sdk';
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages/messages';
import { LONGEST_DELAY } from '../core/timer.ts';
import { toAnthropicBody } from './anthropic-body.ts';
import { MessagesCollector } from './anthropic-stream.ts';
import { attempt } from './attempt.ts';
import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from './contract.ts';
import { watchedFetch } from './watched-fetch.ts';
import { type WireOptions, withoutVariable } from './wire.ts';

const OWN_URL = 'https://api.anthropic.com';

/** A turn that pauses so often does not come to an end by itself. */
const MAX_PAUSES = 10;

/** Anthropic's messages API, or a server that speaks like it. One call is one attempt. */
export function anthropicClient(options: WireOptions): ModelClient {
  return new MessagesClient(options);
}

class MessagesClient implements ModelClient {
  readonly provider: string;
  readonly #options: WireOptions;
  #sdk: Promise<Anthropic> | undefined;

  constructor(options: WireOptions) {
    this.provider = options.name;
    this.#options = options;
  }

  generate(request: ModelRequest, options: GenerateOptions): Promise<ModelReply> {
    const collector = new MessagesCollector();
    return attempt(this.#options, request, options, collector, async ({ watch, read }) => {
      const client = await this.#load();
      const body = toAnthropicBody(request, this.#options);
      const { messages } = body;
      const { signal, fetchOptions } = watch;
      for (let pauses = 0; ; pauses++) {
        // `messages.create` writes warnings about models to the console of whoever embeds this.
        await read(await client.post('/v1/messages', { body, signal, fetchOptions }).asResponse());
        if (!collector.endPart() || pauses === MAX_PAUSES) return collector.reply(request);
        body.messages = [...messages, { role: 'assistant', content: collector.content } as unknown as MessageParam];
      }
    });
  }

  #load(): Promise<Anthropic> {
    this.#sdk ??= this.#create();
    return this.#sdk;
  }

  async #create(): Promise<Anthropic> {
    const { default: Client } = await import('@anthropic-ai/sdk');
    const { baseUrl, apiKey, headers } = this.#options;
    const sdkOptions: ClientOptions = {
      baseURL: sdkUrl(baseUrl),
      apiKey: apiKey ?? 'none',
      authToken: null,
      defaultHeaders: { ...keyHeaders(apiKey, baseUrl), ...headers },
      fetch: watchedFetch,
      maxRetries: 0,
      // Silence is watched by ourselves, to the byte.
      timeout: LONGEST_DELAY,
      logLevel: 'off',
    };
    const make = () => new Client(sdkOptions);
    return isOwn(baseUrl) ? make() : withoutVariable('ANTHROPIC_CUSTOM_HEADERS', make);
  }
}

/** The SDK adds `/v1/messages` itself; people write the URL with `/v1` as for the other wire. */
function sdkUrl(baseUrl: string | undefined): string {
  return (baseUrl ?? OWN_URL).replace(/\/+$/, '').replace(/\/v1$/, '');
}

const isOwn = (baseUrl: string | undefined): boolean => sdkUrl(baseUrl) === OWN_URL;

/** Servers that speak like Anthropic's expect the key in the header that has always been its. */
function keyHeaders(apiKey: string | undefined, baseUrl: string | undefined): Record<string, string | null> {
  if (apiKey === undefined) return { Authorization: null };
  return isOwn(baseUrl) ? {} : { 'x-api-key': apiKey };
}
