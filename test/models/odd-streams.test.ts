import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { anthropicClient } from '../../src/models/anthropic.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { responsesClient } from '../../src/models/responses.ts';
import type { WireOptions } from '../../src/models/wire.ts';
import { asked, block, completed, grep, type Make, message, stopped, streamed } from './one-answer.ts';
import { never, request, user } from './requests.ts';
import { chat, event, openStream, streamServer } from './stream-server.ts';

const saysA = message({ input_tokens: 9 }) + block(0, { type: 'text', text: 'a' });

describe('a stream', () => {
  it.each([
    ['chat completions', openaiClient as Make, [chat({ content: 'a' }), chat({}, 'stop'), 'data: [DONE]\n\n']],
    [
      'the Responses API',
      responsesClient as Make,
      [completed({ output: [{ type: 'message', content: [{ text: 'a' }] }] })],
    ],
  ])('of %s may be kept alive by events without data', async (_, make, parts) => {
    const alive = 'data:\n\nevent: keepalive\n\ndata: \n\n';
    expect((await streamed(make, alive, parts.join(alive))).text).toBe('a');
  });

  it.each([
    ['chat completions', openaiClient as Make, `${chat({ content: 'a' }, 'stop')}data: [DONE]\n\n`],
    [
      'the Responses API',
      responsesClient as Make,
      completed({ output: [{ type: 'message', content: [{ text: 'a' }] }] }),
    ],
    ['the messages wire', anthropicClient as Make, saysA + stopped()],
  ])('of %s has ended with its last event, whether the connection is closed or not', async (_, make, parts) => {
    const reply = await asked(make, (response) => {
      openStream(response);
      response.write(parts);
    });
    expect(reply.text).toBe('a');
  });

  it('is read to its end, so that the next request needs no connection of its own', async () => {
    const sockets = new Set<unknown>();
    const server = await streamServer(async (response) => {
      sockets.add(response.socket);
      openStream(response);
      response.write(`${chat({ content: 'a' }, 'stop')}data: [DONE]\n\n`);
      setTimeout(() => response.end(), 20);
    });
    const client = openaiClient({ name: 'local', baseUrl: server.url, apiKey: 'k'.repeat(12) });
    for (let times = 0; times < 6; times++) await client.generate(request([user('x')]), { signal: never });
    // a second one is made when a request follows before the first was put back
    expect(sockets.size).toBeLessThan(3);
    await server.close();
  });

  const whole: [string, Make, string][] = [
    ['chat completions', openaiClient, chat({ content: 'a' }, 'stop')],
    ['the messages wire', anthropicClient, saysA + event('message_delta', { delta: { stop_reason: 'end_turn' } })],
  ];
  it.each(whole)('of %s that breaks after the answer has given it', async (_, make, parts) => {
    const reply = await asked(make, (response) => {
      openStream(response);
      response.write(parts, () => response.destroy());
    });
    expect(reply).toMatchObject({ text: 'a', finishReason: 'stop' });
  });

  it.each(whole)('of %s that falls silent after the answer has given it', async (_, make, parts) => {
    const patient = (options: WireOptions) => make({ ...options, idleTimeout: 500 });
    const reply = await asked(patient, (response) => {
      openStream(response);
      response.write(parts);
    });
    expect(reply).toMatchObject({ text: 'a', finishReason: 'stop' });
  });

  it('that goes on after a reason to end has not ended when the connection breaks', async () => {
    const answer = asked(openaiClient, async (response) => {
      openStream(response);
      for (const content of ['a', 'b']) response.write(chat({ content }, 'stop'));
      setTimeout(() => response.destroy(), 30);
    });
    await expect(answer).rejects.toMatchObject({ details: { retryable: true, partialText: 'ab' } });
  });

  it('that says after the answer that it failed has failed', async () => {
    const error = 'data: {"error":{"message":"no room"}}\n\n';
    await expect(streamed(openaiClient, chat({ content: 'a' }, 'stop'), error)).rejects.toThrow('no room');
  });

  it('of the messages wire needs no names of events', async () => {
    const parts = (saysA + stopped()).replaceAll(/^event: .*\n/gm, '');
    expect((await streamed(anthropicClient, parts)).text).toBe('a');
  });

  it.each<[string, Make, string]>([
    ['chat completions', openaiClient, chat({ content: 'wörld 😀' }) + chat({}, 'stop')],
    [
      'the Responses API',
      responsesClient,
      completed({ output: [{ type: 'message', content: [{ text: 'wörld 😀' }] }] }),
    ],
    [
      'the messages wire',
      anthropicClient,
      message({ input_tokens: 9 }) + block(0, { type: 'text', text: 'wörld 😀' }) + stopped(),
    ],
  ])(
    'of %s is the same by single bytes, with any ends of lines, a byte order mark, and packed',
    async (_, make, text) => {
      const forms = [text, text.replaceAll('\n', '\r\n'), text.replaceAll('\n', '\r'), `\ufeff${text}`];
      for (const form of forms) {
        const reply = await asked(make, async (response) => {
          openStream(response);
          for (const byte of Buffer.from(form)) {
            response.write(Buffer.from([byte]));
            await new Promise((resolve) => setImmediate(resolve));
          }
          response.end();
        });
        expect(reply.text).toBe('wörld 😀');
      }
      const packed = await asked(make, (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
        response.end(gzipSync(text));
      });
      expect(packed.text).toBe('wörld 😀');
    },
  );

  it('may lack the line after its last event', async () => {
    expect((await streamed(openaiClient, chat({ content: 'a' }, 'stop').trimEnd())).text).toBe('a');
  });

  it.each([openaiClient, responsesClient, anthropicClient])('with an event that is no JSON broke off', async (make) => {
    const answer = streamed(make, 'event: message\ndata: {"cut\n\n');
    await expect(answer).rejects.toMatchObject({
      message: 'local: the stream holds an event that is no JSON',
      details: { retryable: true },
    });
  });

  it('that failed is not kept open', async () => {
    let closed: Promise<void> | undefined;
    const server = await streamServer((response) => {
      closed = new Promise((resolve) => response.once('close', resolve));
      openStream(response);
      response.write('data: {"error":{"message":"no"}}\n\n');
    });
    const client = openaiClient({ name: 'local', baseUrl: server.url, apiKey: 'k'.repeat(12) });
    await expect(client.generate(request([user('x')]), { signal: never })).rejects.toThrow('local: no');
    await closed;
    await server.close();
  });

  it('may hold nulls where a list has items', async () => {
    const details = [null, { type: 'reasoning.text', text: 'hm' }];
    const call = { tool_calls: [null, { index: 0, id: 'a', ...grep('{}') }] };
    const reply = await streamed(openaiClient, chat({ reasoning_details: details }), chat(call, 'tool_calls'));
    expect(reply).toMatchObject({ toolCalls: [{ id: 'a' }], providerState: { reasoningDetails: [details[1]] } });
  });

  it.each([openaiClient, responsesClient, anthropicClient])('may say in plain words what went wrong', async (make) => {
    const answer = streamed(make, 'event: error\ndata: Overloaded, come back later\n\n');
    await expect(answer).rejects.toThrow('local: Overloaded, come back later');
  });

  it('whose shape nobody knows is no mistake of ours', async () => {
    const answer = streamed(responsesClient, completed({ output: {} }));
    await expect(answer).rejects.toMatchObject({ code: 'provider', details: { retryable: true } });
  });

  it('of the messages wire may have events that hold nothing', async () => {
    const empty =
      event('message_delta', { usage: {} }) +
      event('content_block_start', { index: 9 }) +
      event('content_block_delta', { index: 0 });
    const reply = await streamed(
      anthropicClient,
      message({ input_tokens: 9 }),
      block(0, { type: 'text', text: 'a' }),
      empty,
      stopped({ output_tokens: 3 }),
    );
    expect(reply).toMatchObject({ text: 'a', finishReason: 'stop' });
  });
});
