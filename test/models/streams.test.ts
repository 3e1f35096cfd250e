import { afterEach, describe, expect, it } from 'vitest';
import { anthropicClient } from '../../src/models/anthropic.ts';
import type { ModelClient } from '../../src/models/contract.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { ChatCollector, chatUsage } from '../../src/models/openai-stream.ts';
import { withRetry } from '../../src/models/retry.ts';
import { FakeClock } from './fake-clock.ts';
import { assistant, collect, never, request, result, user } from './requests.ts';
import { chat, event, openStream, type StreamServer, streamServer } from './stream-server.ts';

let server: StreamServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const openai = (url: string, idleTimeout?: number): ModelClient =>
  openaiClient({ name: 'local', baseUrl: url, idleTimeout });
const anthropic = (url: string, idleTimeout?: number): ModelClient =>
  anthropicClient({ name: 'local', baseUrl: url, apiKey: 'k'.repeat(12), idleTimeout });

const ask = (client: ModelClient, more = {}) => client.generate(request([user('x')]), { signal: never, ...more });

const text = (index: number, words: string): string =>
  event('content_block_start', { index, content_block: { type: 'text', text: '' } }) +
  event('content_block_delta', { index, delta: { type: 'text_delta', text: words } }) +
  event('content_block_stop', { index });

const start = event('message_start', {
  message: {
    model: 'served-model',
    usage: { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 },
  },
});

const stop = (reason: string): string =>
  event('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: 7 } }) + event('message_stop');

describe('chat chunks', () => {
  const collectChunks = (...deltas: [delta: object, finish?: string][]) => {
    const collector = new ChatCollector();
    for (const [delta, finish = null] of deltas) collector.add({ choices: [{ delta, finish_reason: finish }] });
    return collector.reply(request([user('x')]));
  };
  const call = (id: string | undefined, name: string | undefined, args: string, index?: number) => ({
    tool_calls: [
      {
        ...(index === undefined ? {} : { index }),
        ...(id === undefined ? {} : { id }),
        function: { name, arguments: args },
      },
    ],
  });
  const calls = (...deltas: object[]) =>
    collectChunks(...deltas.map((delta): [object] => [delta]), [{}, 'tool_calls']).toolCalls;

  it('put interleaved calls together by index', () => {
    expect(
      calls(
        call('b', 'two', '{"x', 1),
        call('a', 'one', '{"y', 0),
        call(undefined, undefined, '":1}', 1),
        call(undefined, undefined, '":2}', 0),
      ),
    ).toEqual([
      { id: 'a', name: 'one', arguments: '{"y":2}' },
      { id: 'b', name: 'two', arguments: '{"x":1}' },
    ]);
  });

  it('keep calls apart when each has the index 0', () => {
    const found = calls(call('a', 'one', '{}', 0), call('b', 'two', '{"x"', 0), call(undefined, undefined, ':1}', 0));
    expect(found).toEqual([
      { id: 'a', name: 'one', arguments: '{}' },
      { id: 'b', name: 'two', arguments: '{"x":1}' },
    ]);
  });

  it('put calls together when there is no index', () => {
    const found = calls(
      call('a', 'one', '{"x'),
      call('', '', '":1}'),
      call('b', 'two', '{}'),
      call('a', undefined, ' '),
    );
    expect(found).toEqual([
      { id: 'a', name: 'one', arguments: '{"x":1} ' },
      { id: 'b', name: 'two', arguments: '{}' },
    ]);
  });

  it('give a fresh id for one that is missing or used twice', () => {
    const found = calls(
      call('', 'one', '{}', 0),
      call(undefined, 'two', '{}', 1),
      call('same', 'three', '{}', 2),
      call('same', 'four', '{}', 3),
    );
    expect(found.map(({ name }) => name)).toEqual(['one', 'two', 'three', 'four']);
    expect(new Set(found.map(({ id }) => id)).size).toBe(4);
    expect(found.every(({ id }) => id !== '')).toBe(true);
    expect(found[2]?.id).toBe('same');
  });

  it('may be empty, null, or end for an unknown reason', () => {
    const collector = new ChatCollector();
    for (const chunk of [
      {},
      null,
      { choices: [] },
      { choices: [null] },
      { choices: [{ delta: null }] },
      { choices: [{ delta: { content: null, tool_calls: null } }] },
    ]) {
      expect(collector.add(chunk)).toEqual([]);
    }
    collector.add({ choices: [{ delta: { content: 'a' }, finish_reason: 'eos_reached' }] });
    expect(collector.reply(request([user('x')]))).toMatchObject({ text: 'a', finishReason: 'eos_reached' });
  });

  it('join the signed blocks of OpenRouter, and keep them to be sent back', () => {
    const detail = (text: string, more = {}) => ({
      reasoning: text,
      reasoning_details: [{ type: 'reasoning.text', index: 0, text, ...more }],
    });
    const reply = collectChunks([detail('a')], [detail('b', { signature: 's' })], [{}, 'stop']);
    expect(reply.reasoning).toBe('ab');
    expect(reply.providerState).toEqual({
      wire: 'chat',
      reasoningField: 'reasoning',
      reasoningDetails: [{ type: 'reasoning.text', index: 0, text: 'ab', signature: 's' }],
    });
  });

  it('take arguments that are an object, parts of content, and any name for reasoning', () => {
    const object = { tool_calls: [{ index: 0, id: 'a', function: { name: 'one', arguments: { x: [1] } } }] };
    expect(calls(object)).toEqual([{ id: 'a', name: 'one', arguments: '{"x":[1]}' }]);
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'yes' },
    ];
    expect(collectChunks([{ content: parts }, 'stop'])).toMatchObject({ text: 'yes', reasoning: 'hm' });
    const thought = collectChunks([{ thinking: 'so' }], [{ content: 'ok' }, 'stop']);
    expect(thought).toMatchObject({ reasoning: 'so', providerState: { reasoningField: 'thinking' } });
  });

  it('take usage from any chunk, and finish reasons by other names', () => {
    const collector = new ChatCollector();
    collector.add({ usage: { prompt_tokens: 7, completion_tokens: 1 }, choices: [{ delta: { content: 'a' } }] });
    collector.add({ choices: [{ delta: {}, finish_reason: 'model_length' }] });
    expect(collector.reply(request([user('x')]))).toMatchObject({ usage: { input: 7 }, finishReason: 'length' });
    const groq = new ChatCollector();
    groq.add({ choices: [{ delta: {}, finish_reason: 'function_call' }], x_groq: { usage: { prompt_tokens: 3 } } });
    expect(groq.reply(request([user('x')]))).toMatchObject({ usage: { input: 3 }, finishReason: 'tool_calls' });
  });

  it('mend halves of characters', () => {
    expect(collectChunks([{ content: '\ud83c' }], [{ content: '\udfaf\ud800' }, 'stop']).text).toBe('🎯\ufffd');
  });

  it('count tokens as each dialect does', () => {
    expect(
      chatUsage({
        prompt_tokens: 100,
        completion_tokens: 20,
        prompt_tokens_details: { cached_tokens: 64 },
        completion_tokens_details: { reasoning_tokens: 8 },
      }),
    ).toEqual({ input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 8 });
    expect(chatUsage({ prompt_tokens: 100, completion_tokens: 20, prompt_cache_hit_tokens: 90 }).cache_read).toBe(90);
  });
});

describe('a chat stream', () => {
  it('takes usage after the end, and estimates it when there is none', async () => {
    server = await streamServer((response, count) => {
      openStream(response);
      response.write(chat({ content: 'abcd' }) + chat({}, 'stop'));
      if (count === 1)
        response.write(
          `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } })}\n\n`,
        );
      response.end('data: [DONE]\n\n');
    });
    expect((await ask(openai(server.url))).usage).toMatchObject({ input: 5, output: 2 });
    const estimated = await ask(openai(server.url));
    expect(estimated).toMatchObject({ model: 'served-model', usage: { input: 1, output: 1 } });
  });

  it.each([
    ['ends without a reason', (r: import('node:http').ServerResponse) => void r.end(chat({ content: 'half' }))],
    [
      'loses its connection',
      (r: import('node:http').ServerResponse) =>
        void r.write(chat({ content: 'half' }), () => setTimeout(() => r.destroy(), 20)),
    ],
    [
      'carries an error',
      (r: import('node:http').ServerResponse) =>
        void r.end(`${chat({ content: 'half' })}data: {"error":{"message":"upstream went away","code":502}}\n\n`),
    ],
    [
      'carries no JSON',
      (r: import('node:http').ServerResponse) => void r.end(`${chat({ content: 'half' })}data: <html>\n\n`),
    ],
  ])('that %s is tried again, and its text is not lost', async (_, finish) => {
    server = await streamServer((response) => {
      openStream(response);
      finish(response);
    });
    const clock = new FakeClock();
    const error = await ask(withRetry(openai(server.url), { clock, attempts: 3 })).catch((each) => each);
    expect(error).toMatchObject({ code: 'provider', details: { partialText: 'half', attempts: 3 } });
    expect(server.bodies).toHaveLength(3);
    expect(server.bodies[1]).toEqual(server.bodies[0]);
  });

  it('is not cached, split or renamed by us: the body is what toOpenAIBody gives', async () => {
    server = await streamServer((response) => {
      openStream(response);
      response.end(chat({ content: 'a' }, 'stop'));
    });
    await ask(openai(server.url));
    expect(server.bodies[0]).toEqual({
      model: 'm',
      messages: [{ role: 'user', content: 'x' }],
      stream: true,
      stream_options: { include_usage: true },
    });
  });
});

describe('a messages stream', () => {
  it('counts every prompt token once', async () => {
    server = await streamServer((response) => {
      openStream(response);
      response.end(start + text(0, 'Hi') + stop('end_turn'));
    });
    const reply = await ask(anthropic(server.url));
    expect(reply).toMatchObject({ text: 'Hi', model: 'served-model', finishReason: 'stop' });
    expect(reply.usage).toEqual({ input: 130, output: 7, cache_read: 100, cache_write: 20, reasoning: 0 });
  });

  it.each([
    ['overloaded_error', 529, 'provider_overloaded'],
    ['api_error', 500, 'provider'],
  ])('that carries %s is tried again', async (type, status, code) => {
    server = await streamServer((response) => {
      openStream(response);
      response.end(start + text(0, 'half') + event('error', { error: { type, message: 'later' } }));
    });
    const client = withRetry(anthropic(server.url), { clock: new FakeClock(), attempts: 2 });
    expect(await ask(client).catch((error) => error)).toMatchObject({
      code,
      details: { status, partialText: 'half', attempts: 2 },
    });
  });

  it('that ends without message_stop is a cut one', async () => {
    server = await streamServer((response) => {
      openStream(response);
      response.end(start + text(0, 'half'));
    });
    expect(await ask(anthropic(server.url)).catch((error) => error)).toMatchObject({
      details: { retryable: true, partialText: 'half' },
    });
  });

  it('that pauses is asked to go on, with what it said', async () => {
    const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} };
    server = await streamServer((response, count) => {
      openStream(response);
      const first =
        text(0, 'Searching. ') +
        event('content_block_start', { index: 1, content_block: search }) +
        event('content_block_delta', { index: 1, delta: { type: 'input_json_delta', partial_json: '{"q":"x"}' } }) +
        text(2, '');
      response.end(start + (count === 1 ? first + stop('pause_turn') : text(0, 'Found.') + stop('end_turn')));
    });
    const reply = await ask(anthropic(server.url));
    expect(reply.text).toBe('Searching. Found.');
    expect(reply.usage).toMatchObject({ input: 260, output: 14 });
    const messages = server.bodies[1]?.messages as { role: string; content: unknown }[];
    expect(messages.at(-1)).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Searching. ' },
        { ...search, input: { q: 'x' } },
      ],
    });
    expect(reply.providerState).toEqual({
      wire: 'messages',
      blocks: [
        { type: 'text', text: 'Searching. ' },
        { ...search, input: { q: 'x' } },
        { type: 'text', text: 'Found.' },
      ],
    });
  });

  it('brings thinking that goes back byte for byte, in its place', async () => {
    server = await streamServer((response, count) => {
      openStream(response);
      const thinking =
        event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }) +
        event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'hm, ' } }) +
        event('content_block_delta', { index: 0, delta: { type: 'thinking_delta', thinking: 'so' } }) +
        event('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'SIG==' } }) +
        event('content_block_start', { index: 1, content_block: { type: 'redacted_thinking', data: 'DATA' } });
      const call =
        event('content_block_start', {
          index: 2,
          content_block: { type: 'tool_use', id: 'toolu_1', name: 'grep', input: {} },
        }) +
        event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":' } }) +
        event('content_block_delta', { index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } });
      response.end(start + (count === 1 ? thinking + call + stop('tool_use') : text(0, 'ok') + stop('end_turn')));
    });
    const client = anthropic(server.url);
    const reply = await ask(client);
    expect(reply).toMatchObject({
      reasoning: 'hm, so',
      toolCalls: [{ id: 'toolu_1', name: 'grep', arguments: '{"a":1}' }],
    });
    const turn = {
      ...assistant('', [['toolu_1', 'grep', '{"a":1}']]),
      reasoning: reply.reasoning,
      providerState: JSON.parse(JSON.stringify(reply.providerState)),
    };
    await client.generate(request([user('x'), turn, result('toolu_1', 'grep', 'found')]), { signal: never });
    const messages = server.bodies[1]?.messages as { content: unknown }[];
    expect(messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'hm, so', signature: 'SIG==' },
      { type: 'redacted_thinking', data: 'DATA' },
      { type: 'tool_use', id: 'toolu_1', name: 'grep', input: { a: 1 } },
    ]);
  });

  const toolUse = (index: number, id: string, pieces: string[], more = '') =>
    event('content_block_start', { index, content_block: { type: 'tool_use', id, name: 'write_file', input: {} } }) +
    pieces
      .map((partial_json) => event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }))
      .join('') +
    more;

  it.each(['max_tokens', 'model_context_window_exceeded'])(
    'that ends with %s in the middle of a call marks the call, and no other',
    async (reason) => {
      server = await streamServer((response) => {
        openStream(response);
        const whole = toolUse(0, 'toolu_1', ['{"path":"a"}'], event('content_block_stop', { index: 0 }));
        response.end(start + whole + toolUse(1, 'toolu_2', ['{"path":"b","content":"half']) + stop(reason));
      });
      const reply = await ask(anthropic(server.url));
      expect(reply.finishReason).toBe('length');
      expect(reply.toolCalls).toMatchObject([
        { id: 'toolu_1', arguments: '{"path":"a"}' },
        { id: 'toolu_2', arguments: '{"path":"b","content":"half', isCut: true },
      ]);
      expect(reply.toolCalls[0]).not.toHaveProperty('isCut');
    },
  );

  it('that is cut before the first piece of a call does not call with no arguments', async () => {
    server = await streamServer((response) => {
      openStream(response);
      response.end(start + toolUse(0, 'toolu_1', []) + stop('max_tokens'));
    });
    expect((await ask(anthropic(server.url))).toolCalls).toMatchObject([{ isCut: true }]);
  });

  it('that brings arguments with one reading only is mended', async () => {
    server = await streamServer((response) => {
      openStream(response);
      const call = toolUse(0, 'toolu_1', ['{"path":"a",', '}'], event('content_block_stop', { index: 0 }));
      response.end(start + call + stop('tool_use'));
    });
    expect((await ask(anthropic(server.url))).toolCalls).toEqual([
      { id: 'toolu_1', name: 'write_file', arguments: '{"path":"a"}' },
    ]);
  });

  it('that refuses says so, and is not asked again', async () => {
    server = await streamServer((response) => {
      openStream(response);
      response.end(start + stop('refusal'));
    });
    const error = await ask(withRetry(anthropic(server.url), { clock: new FakeClock() })).catch((each) => each);
    expect(error).toMatchObject({
      code: 'provider',
      message: expect.stringContaining('declined to answer'),
      details: { retryable: false },
    });
    expect(server.bodies).toHaveLength(1);
  });

  it('that makes two calls where one is to be made keeps what leads to the first', async () => {
    const thinking = (index: number) =>
      event('content_block_start', {
        index,
        content_block: { type: 'thinking', thinking: `t${index}`, signature: 's' },
      }) + event('content_block_stop', { index });
    const end = (index: number) => event('content_block_stop', { index });
    server = await streamServer((response) => {
      openStream(response);
      const parts = [thinking(0), toolUse(1, 'a', ['{}'], end(1)), thinking(2), toolUse(3, 'b', ['{}'], end(3))];
      response.end(start + parts.join('') + stop('tool_use'));
    });
    const client = anthropicClient({
      name: 'local',
      baseUrl: server.url,
      apiKey: 'k'.repeat(12),
      parallelTools: false,
    });
    const tools = [{ name: 'write_file', description: '', parameters: {} }];
    const reply = await client.generate(request([user('x')], { tools }), { signal: never });
    expect(server.bodies[0]?.tool_choice).toEqual({ type: 'auto', disable_parallel_tool_use: true });
    expect(reply.toolCalls.map(({ id }) => id)).toEqual(['a']);
    expect(reply.providerState).toMatchObject({ blocks: [{ type: 'thinking', thinking: 't0' }, { type: 'tool_use' }] });
  });

  it('writes nothing to the console', async () => {
    server = await streamServer((response) => {
      openStream(response);
      response.end(start + text(0, 'Hi') + stop('end_turn'));
    });
    const written: unknown[] = [];
    const { warn } = console;
    console.warn = (...parts) => void written.push(parts);
    try {
      await anthropic(server.url).generate(request([user('x')], { model: 'claude-sonnet-4-5' }), { signal: never });
    } finally {
      console.warn = warn;
    }
    expect(written).toEqual([]);
  });
});

describe.each([
  ['chat', openai, chat({ content: 'half' }), chat({}, 'stop')],
  ['messages', anthropic, start + text(0, 'half'), stop('end_turn')],
])('a silent %s stream', (_, make, beginning, end) => {
  it('is given up after the idle time, and tried again', async () => {
    server = await streamServer((response, count) => {
      openStream(response);
      response.write(beginning);
      if (count === 2) response.end(end);
    });
    const seen = collect();
    const reply = await ask(withRetry(make(server.url, 150), { clock: new FakeClock() }), seen);
    expect(reply.text).toBe('half');
    expect(seen.deltas.filter((delta) => delta.type === 'retry')).toMatchObject([
      { reason: expect.stringContaining('nothing arrived for 0.15 s') },
    ]);
  });

  it('is given up when not even headers come', async () => {
    server = await streamServer(() => {});
    const error = await ask(make(server.url, 100)).catch((each) => each);
    expect(error).toMatchObject({ code: 'provider', details: { retryable: true } });
    expect(error.message).toContain('nothing arrived');
  });

  it('is not silent while comments come', async () => {
    server = await streamServer((response) => {
      openStream(response);
      response.write(beginning);
      let beats = 0;
      const timer = setInterval(() => {
        if (++beats < 8) response.write(': keep-alive\n\n');
        else {
          clearInterval(timer);
          response.end(end);
        }
      }, 60);
    });
    expect((await ask(make(server.url, 300))).text).toBe('half');
  });
});
