import type OpenAI from 'openai';
import type { Decoder } from './attempt.ts';
import { dialectOf } from './dialects.ts';
import { watchedFetch } from './watched-fetch.ts';
import type { WireOptions } from './wire.ts';

/** The SDK's client, and its decoder of streams. */
export interface OpenAISdk {
  client: OpenAI;
  decode: Decoder<unknown>;
}

/** The SDK, for both wires that it speaks: loaded, and its client made, when first asked for. */
export function openaiSdk(options: WireOptions): () => Promise<OpenAISdk> {
  let sdk: Promise<OpenAISdk> | undefined;
  return () => {
    sdk ??= createSdk(options);
    return sdk;
  };
}

async function createSdk({ baseUrl, apiKey, headers, name }: WireOptions): Promise<OpenAISdk> {
  const { default: Client } = await import('openai');
  const { Stream } = await import('openai/core/streaming');
  const client = new Client({
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
  return { client, decode: (response) => Stream.fromSSEResponse(response, new AbortController(), client) };
}
