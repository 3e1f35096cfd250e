import type OpenAI from 'openai';
import type { ClientOptions } from 'openai';
import { LONGEST_DELAY } from '../core/timer.ts';
import { attempt, type Collector } from './attempt.ts';
import type { ModelClient, ModelReply, ModelRequest } from './contract.ts';
import { dialectOf } from './dialects.ts';
import { type Watch, watchedFetch } from './watched-fetch.ts';
import { type WireOptions, withoutVariable } from './wire.ts';

/** What one of the wires that the SDK speaks has of its own. */
export interface OpenAIWire {
  /** What gathers one answer. */
  collector(): Collector & { reply(request: ModelRequest): ModelReply };
  ask(client: OpenAI, request: ModelRequest, how: Pick<Watch, 'signal' | 'fetchOptions'>): Promise<Response>;
}

/** A client over the SDK, which is loaded when first asked. One call is one attempt. */
export function openaiSdkClient(options: WireOptions, wire: OpenAIWire): ModelClient {
  let sdk: Promise<OpenAI> | undefined;
  return {
    provider: options.name,
    generate(request, generateOptions) {
      const collector = wire.collector();
      return attempt(options, request, generateOptions, collector, async ({ watch, read }) => {
        sdk ??= createSdk(options);
        const client = await sdk;
        const { signal, fetchOptions } = watch;
        await read(await wire.ask(client, request, { signal, fetchOptions }));
        return collector.reply(request);
      });
    },
  };
}

async function createSdk({ baseUrl, apiKey, headers, name }: WireOptions): Promise<OpenAI> {
  const { default: Client } = await import('openai');
  // What the environment says of OpenAI is not for other servers.
  const isOwn = dialectOf({ name, baseUrl }).name === 'openai';
  const sdkOptions: ClientOptions = {
    baseURL: baseUrl ?? 'https://api.openai.com/v1',
    // A server without keys gets no header; the SDK wants a value all the same.
    apiKey: apiKey ?? 'none',
    defaultHeaders: { ...(apiKey === undefined ? { Authorization: null } : {}), ...headers },
    ...(isOwn ? {} : { organization: null, project: null }),
    adminAPIKey: null,
    fetch: watchedFetch,
    maxRetries: 0,
    // Silence is watched by ourselves, to the byte.
    timeout: LONGEST_DELAY,
    logLevel: 'off',
  };
  const make = () => new Client(sdkOptions);
  return isOwn ? make() : withoutVariable('OPENAI_CUSTOM_HEADERS', make);
}
