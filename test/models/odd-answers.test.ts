import { describe, expect, it } from 'vitest';
import { eventSchema } from '../../src/core/events.ts';
import { costOf, type Usage } from '../../src/core/usage.ts';
import { anthropicClient } from '../../src/models/anthropic.ts';
import type { ModelReply } from '../../src/models/contract.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { responsesClient } from '../../src/models/responses.ts';
import { processorTime } from '../helpers/processor-time.ts';
import { block, callChunk, completed, grep, message, stopped, streamed } from './one-answer.ts';
import { chat, event } from './stream-server.ts';

const isLogged = (reply: ModelReply): boolean => eventSchema.safeParse({ type: 'assistant.message', ...reply }).success;

const ended = chat({}, 'tool_calls');
const added = (index: number, item: object) => event('response.output_item.added', { output_index: index, item });

describe('a server that broke off', () => {
  it.each(['insufficient_system_resource', 'error', 'abort', 'network_error'])(
    'has not answered: %s',
    async (reason) => {
      const answer = streamed(
        openaiClient,
        chat({ content: 'half' }),
        callChunk({ index: 0, id: 'a', ...grep('{"a":1') }),
        chat({}, reason),
      );
      await expect(answer).rejects.toMatchObject({
        code: 'provider',
        details: { retryable: true, partialText: 'half' },
      });
    },
  );

  it('for a reason that nobody knows has no call run that is not whole', async () => {
    const reply = await streamed(
      openaiClient,
      callChunk({ index: 0, id: 'a', ...grep('{"a":"x"') }),
      chat({}, 'spilled'),
    );
    expect(reply.toolCalls).toMatchObject([{ id: 'a', isCut: true }]);
  });
});

describe('calls that a server does not tell apart', () => {
  it.each([
    ['no index and no id', [{}, {}]],
    ['one index and no id', [{ index: 0 }, { index: 0 }]],
    [
      'one index and one id',
      [
        { index: 0, id: 'a' },
        { index: 0, id: 'a' },
      ],
    ],
    ['one id and no index', [{ id: 'a' }, { id: 'a' }]],
  ])('are two all the same: %s', async (_, [first, second]) => {
    const pieces = [
      callChunk({ ...first, ...grep('{"a":1}') }),
      callChunk({ ...second, ...grep('{"a"') }),
      callChunk({ ...second, ...grep(':2}') }),
    ];
    const reply = await streamed(openaiClient, ...pieces, ended);
    expect(reply.toolCalls.map(({ arguments: args }) => args)).toEqual(['{"a":1}', '{"a":2}']);
    expect(new Set(reply.toolCalls.map(({ id }) => id)).size).toBe(2);
  });

  it('are one when the second is the first again', async () => {
    const piece = callChunk({ index: 0, id: 'a', ...grep('{"a":1}') });
    expect((await streamed(openaiClient, piece, piece, ended)).toolCalls).toHaveLength(1);
  });

  it('take no time of their own when the function is named in every piece', async () => {
    const pieces = Array.from(
      { length: 20_000 },
      () => callChunk({ index: 0, id: 'a', ...grep('"') }) + callChunk({ index: 0, id: 'a', ...grep(',"}') }),
    );
    const begun = processorTime();
    const reply = await streamed(
      openaiClient,
      callChunk({ index: 0, id: 'a', ...grep('{"a":["') }),
      ...pieces,
      callChunk({ index: 0, id: 'a', ...grep('"]}') }),
      ended,
    );
    expect(reply.toolCalls).toHaveLength(1);
    // By reading all of it at every piece it was 27 s for four times as many.
    expect(processorTime() - begun).toBeLessThan(2_000);
  });

  it('are two with one index on the messages wire', async () => {
    const uses = [1, 2].map((number) =>
      block(0, { type: 'tool_use', id: `t${number}`, name: 'grep', input: { number } }),
    );
    const reply = await streamed(anthropicClient, message({ input_tokens: 9 }), ...uses, stopped({}, 'tool_use'));
    expect(reply.toolCalls.map(({ id }) => id)).toEqual(['t1', 't2']);
  });

  it('are two with one index when the arguments come in pieces', async () => {
    const uses = [1, 2].map(
      (number) =>
        event('content_block_start', {
          index: 0,
          content_block: { type: 'tool_use', id: `t${number}`, name: 'grep' },
        }) +
        event('content_block_delta', {
          index: 0,
          delta: { type: 'input_json_delta', partial_json: `{"number":${number}}` },
        }),
    );
    const reply = await streamed(anthropicClient, message({ input_tokens: 9 }), ...uses, stopped({}, 'tool_use'));
    expect(reply.toolCalls.map(({ arguments: args }) => args)).toEqual(['{"number":1}', '{"number":2}']);
  });

  it('are one when the end of a Responses stream has it at another place', async () => {
    const item = { type: 'function_call', id: 'f1', call_id: 'c1', name: 'grep', arguments: '{}' };
    const reply = await streamed(
      responsesClient,
      added(0, { type: 'reasoning', id: 'r1' }),
      added(1, item),
      completed({ output: [item] }),
    );
    expect(reply.toolCalls).toMatchObject([{ id: 'c1' }]);
  });
});

describe('what the log takes', () => {
  it('is made of numbers where texts belong', async () => {
    const chunks = [callChunk({ index: 0, id: 7, ...grep('{}') }), chat({}, 'tool_calls', { model: 5 })];
    const reply = await streamed(openaiClient, ...chunks);
    expect(reply).toMatchObject({ model: '5', toolCalls: [{ id: '7' }] });
    expect(isLogged(reply)).toBe(true);
    const item = { type: 'function_call', id: 'f1', call_id: 5, name: 'grep', arguments: { a: 1 } };
    const other = await streamed(responsesClient, completed({ output: [item] }));
    expect(other.toolCalls).toEqual([{ id: '5', name: 'grep', arguments: '{"a":1}' }]);
  });

  it('is a reason to end that is a text', async () => {
    const reply = await streamed(openaiClient, chat({ content: 'a' }), chat({}, { odd: true } as unknown as string));
    expect(reply.finishReason).toBe('stop');
    expect(isLogged(reply)).toBe(true);
  });

  it('is no call without a name', async () => {
    const use = block(0, { type: 'tool_use', id: 't', name: '', input: {} });
    expect((await streamed(anthropicClient, message({}), use, stopped({}, 'tool_use'))).toolCalls).toEqual([]);
  });
});

describe('usage', () => {
  const said = chat({ content: 'abcdefgh' }, 'stop');
  const estimated = { input: 10, output: 2 };
  it.each<[object, Partial<Usage>]>([
    [{}, estimated],
    [{ prompt_tokens: 0, completion_tokens: 0 }, estimated],
    [{ prompt_tokens: -5, completion_tokens: 'many' }, estimated],
    [
      { prompt_tokens: '12', completion_tokens: '3' },
      { input: 12, output: 3 },
    ],
    [
      { prompt_tokens: 12, completion_tokens: 0 },
      { input: 12, output: 2 },
    ],
    [
      { prompt_tokens: 12, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 100 } },
      { input: 100, cache_read: 100 },
    ],
    [
      { prompt_tokens: 12, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: 9 } },
      { input: 12, output: 9, reasoning: 9 },
    ],
  ])('%j can be added up and charged', async (usage, expected) => {
    const reply = await streamed(openaiClient, said, chat({}, null, { choices: [], usage }));
    expect(reply.usage).toMatchObject(expected);
    expect(isLogged(reply)).toBe(true);
    expect(costOf(reply.usage, { input: 1, output: 1, cache_read: 0.1 })).toBeGreaterThan(0);
  });

  it('is not taken back by zeros', async () => {
    const chunks = [8, 0].map((tokens) =>
      chat({}, null, { choices: [], usage: { prompt_tokens: tokens, completion_tokens: tokens } }),
    );
    expect((await streamed(openaiClient, said, ...chunks)).usage).toMatchObject({ input: 8, output: 8 });
    const start = message({ input_tokens: 8, output_tokens: 0 });
    const reply = await streamed(
      anthropicClient,
      start,
      block(0, { type: 'text', text: 'a' }),
      stopped({ input_tokens: 0, output_tokens: 4 }),
    );
    expect(reply.usage).toMatchObject({ input: 8, output: 4 });
  });

  it('of zeros is none on any wire', async () => {
    const text = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'abcdefgh' }] };
    const usage = { input_tokens: '5', output_tokens: 0 };
    expect((await streamed(responsesClient, completed({ output: [text], usage }))).usage).toMatchObject({
      input: 5,
      output: 2,
    });
    const zeros = message({ input_tokens: 0, output_tokens: 0 });
    const reply = await streamed(anthropicClient, zeros, block(0, { type: 'text', text: 'abcdefgh' }), stopped());
    expect(reply.usage).toMatchObject(estimated);
  });
});
