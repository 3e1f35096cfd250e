import type { ModelClient, ModelReply } from '../../src/models/contract.ts';
import type { WireOptions } from '../../src/models/wire.ts';
import { never, request, user } from './requests.ts';
import { chat, event, openStream, streamServer } from './stream-server.ts';

export type Make = (options: WireOptions) => ModelClient;

/** What a client makes of one answer of a server. */
export async function asked(make: Make, answer: Parameters<typeof streamServer>[0]): Promise<ModelReply> {
  const server = await streamServer(answer);
  try {
    const client = make({ name: 'local', baseUrl: server.url, apiKey: 'k'.repeat(12) });
    return await client.generate(request([user('x'.repeat(40))]), { signal: never });
  } finally {
    await server.close();
  }
}

export const streamed = (make: Make, ...parts: string[]): Promise<ModelReply> =>
  asked(make, (response) => {
    openStream(response);
    response.end(parts.join(''));
  });

export const failing = (make: Make, status: number, body: string, type = 'application/json'): Promise<unknown> =>
  asked(make, (response) => void response.writeHead(status, { 'content-type': type }).end(body)).catch(
    (error) => error,
  );

/** A chunk with a piece of a call, and what it holds of a call of grep. */
export const callChunk = (more: object): string => chat({ tool_calls: [more] });
export const grep = (args: string) => ({ function: { name: 'grep', arguments: args } });

/** Events of a messages stream. */
export const message = (usage: object) => event('message_start', { message: { model: 'served-model', usage } });
export const block = (index: number, content: object) =>
  event('content_block_start', { index, content_block: content }) + event('content_block_stop', { index });
export const stopped = (usage?: object, reason = 'end_turn') =>
  event('message_delta', { delta: { stop_reason: reason }, ...(usage ? { usage } : {}) }) + event('message_stop');

/** The last event of a Responses stream. */
export const completed = (more: object) => event('response.completed', { response: { status: 'completed', ...more } });
