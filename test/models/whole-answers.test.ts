import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/messages.ts';
import { anthropicClient } from '../../src/models/anthropic.ts';
import type { ModelClient } from '../../src/models/contract.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { responsesClient } from '../../src/models/responses.ts';
import { withRetry } from '../../src/models/retry.ts';
import type { WireOptions } from '../../src/models/wire.ts';
import { FakeClock } from './fake-clock.ts';
import { collect, never, request, result, user } from './requests.ts';
import { chat, event, openStream, type StreamServer, streamServer } from './stream-server.ts';

let server: StreamServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

type Make = (url: string, more?: Partial<WireOptions>) => ModelClient;

const settings = (baseUrl: string): WireOptions => ({ name: 'local', baseUrl, apiKey: 'k'.repeat(12), stream: false });
const openai: Make = (url, more) => openaiClient({ ...settings(url), ...more });
const responses: Make = (url, more) => responsesClient({ ...settings(url), ...more });
const anthropic: Make = (url, more) => anthropicClient({ ...settings(url), ...more });

const ask = (client: ModelClient, more = {}) => client.generate(request([user('x')]), { signal: never, ...more });

const json = (response: ServerResponse, body: unknown, type = 'application/json'): void =>
  void response.writeHead(200, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));

const answering = async (body: unknown, type?: string): Promise<string> => {
  server = await streamServer((response) => json(response, body, type));
  return server.url;
};

const completion = (message: object, finish: string | null = 'stop', more: object = {}) => ({
  id: 'c',
  object: 'chat.completion',
  model: 'served-model',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
  ...more,
});

const message = (content: object[], reason: string | null = 'end_turn') => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  model: 'served-model',
  content,
  stop_reason: reason,
  usage: { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 7 },
});

const response = (output: object[], more: object = {}) => ({
  id: 'r',
  object: 'response',
  model: 'served-model',
  status: 'completed',
  error: null,
  output,
  ...more,
});

const said = (text: string) => ({ type: 'message', id: 'msg', content: [{ type: 'output_text', text }] });

const wires: [name: string, make: Make, plain: object, streamed: string][] = [
  ['chat', openai, completion({ content: 'Hi' }), chat({ content: 'Hi' }, 'stop')],
  ['responses', responses, response([said('Hi')]), event('response.completed', { response: response([said('Hi')]) })],
  [
    'messages',
    anthropic,
    message([{ type: 'text', text: 'Hi' }]),
    event('message_start', { message: { model: 'served-model' } }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Hi' } }) +
      event('message_stop'),
  ],
];

describe('an answer in one piece', () => {
  it('of chat completions has all that a streamed one has', async () => {
    const calls = [
      { id: 'a', type: 'function', function: { name: 'one', arguments: '{"x":1}' } },
      { id: 'a', type: 'function', function: { name: 'two', arguments: { y: 2 } } },
      { type: 'function', function: { name: 'three', arguments: '{"z":3,}' } },
    ];
    const url = await answering(
      completion({ content: 'Look.', reasoning_content: 'hm', tool_calls: calls }, 'tool_calls', {
        usage: {
          prompt_tokens: 100,
          completion_tokens: 20,
          prompt_tokens_details: { cached_tokens: 64 },
          completion_tokens_details: { reasoning_tokens: 8 },
        },
      }),
    );
    const seen = collect();
    const reply = await ask(openai(url), seen);
    expect(reply).toMatchObject({
      text: 'Look.',
      reasoning: 'hm',
      finishReason: 'tool_calls',
      model: 'served-model',
      providerState: { wire: 'chat', reasoningField: 'reasoning_content' },
      usage: { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 8 },
    });
    expect(reply.toolCalls.map(({ name, arguments: text }) => [name, text])).toEqual([
      ['one', '{"x":1}'],
      ['two', '{"y":2}'],
      ['three', '{"z":3}'],
    ]);
    expect(new Set(reply.toolCalls.map(({ id }) => id)).size).toBe(3);
    expect(seen.deltas.map(({ type }) => type)).toEqual(['reasoning', 'text']);
    expect(server?.bodies[0]).toEqual({ model: 'm', messages: [{ role: 'user', content: 'x' }], stream: false });
  });

  it('of chat completions may have no reason to end, no usage, and content in parts', async () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'yes' },
    ];
    const reply = await ask(openai(await answering(completion({ content }, null))));
    expect(reply).toMatchObject({ text: 'yes', reasoning: 'hm', finishReason: 'stop' });
    expect(reply.usage.output).toBeGreaterThan(0);
  });

  it('of the Responses API keeps its items in their order', async () => {
    const reasoning = {
      type: 'reasoning',
      id: 'rs',
      summary: [{ type: 'summary_text', text: 'hm' }],
      encrypted_content: 'SECRET==',
    };
    const call = { type: 'function_call', id: 'fc', call_id: 'c1', name: 'grep', arguments: '{"a":1}' };
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 64 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 8 },
    };
    const reply = await ask(responses(await answering(response([reasoning, said('Look.'), call], { usage }))));
    expect(reply).toEqual({
      text: 'Look.',
      reasoning: 'hm',
      toolCalls: [{ id: 'c1', name: 'grep', arguments: '{"a":1}' }],
      providerState: {
        wire: 'responses',
        provider: 'local',
        items: [reasoning, { type: 'message' }, { type: 'function_call' }],
      },
      usage: { input: 100, output: 20, cache_read: 64, cache_write: 0, reasoning: 8 },
      model: 'served-model',
      finishReason: 'tool_calls',
    });
  });

  it('of the Responses API that is incomplete says why', async () => {
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    const reply = await ask(responses(await answering(response([said('half')], incomplete))));
    expect(reply).toMatchObject({ text: 'half', finishReason: 'length' });
  });

  it('of the messages wire brings thinking that goes back byte for byte', async () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'SIG==' };
    const call = { type: 'tool_use', id: 'toolu_1', name: 'grep', input: { a: 1 } };
    const seen = collect();
    const reply = await ask(anthropic(await answering(message([thinking, call], 'tool_use'))), seen);
    expect(reply).toEqual({
      text: '',
      reasoning: 'hm',
      toolCalls: [{ id: 'toolu_1', name: 'grep', arguments: '{"a":1}' }],
      providerState: { wire: 'messages', blocks: [thinking, { type: 'tool_use' }] },
      usage: { input: 130, output: 7, cache_read: 100, cache_write: 20, reasoning: 0 },
      model: 'served-model',
      finishReason: 'tool_calls',
    });
    expect(seen.deltas).toEqual([{ type: 'reasoning', text: 'hm' }]);
    expect(server?.bodies[0]).toMatchObject({ stream: false });
  });

  it('of the messages wire that was cut off never lets its last call run', async () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'write_file', input: { path: id } });
    const { toolCalls } = await ask(anthropic(await answering(message([call('a'), call('b')], 'max_tokens'))));
    expect(toolCalls.map(({ id, isCut }) => [id, isCut])).toEqual([
      ['a', undefined],
      ['b', true],
    ]);
  });

  it('of the messages wire that pauses is asked to go on', async () => {
    const search = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { q: 'x' } };
    server = await streamServer((answer, count) =>
      json(answer, count === 1 ? message([search], 'pause_turn') : message([{ type: 'text', text: 'Found.' }])),
    );
    const reply = await ask(anthropic(server.url));
    expect(reply).toMatchObject({ text: 'Found.', usage: { input: 260, output: 14 } });
    const messages = (server.bodies[1]?.messages ?? []) as unknown[];
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: [search] });
  });
});

describe.each(wires)('a server of the %s wire', (_, make, plain, streamed) => {
  it.each([
    ['application/json', true],
    ['application/json; charset=utf-8', true],
    ['text/plain', true],
    ['text/plain', false],
  ])(
    'that answers in one piece, as %s, is understood when a stream was asked for (%s) or not',
    async (type, stream) => {
      const url = await answering(`\ufeff\n \n${JSON.stringify(plain, null, 2)}\n`, type);
      const seen = collect();
      expect(await ask(make(url, { stream }), seen)).toMatchObject({ text: 'Hi', finishReason: 'stop' });
      expect(seen.text()).toBe('Hi');
    },
  );

  it.each(['text/event-stream', 'application/json', 'application/octet-stream'])(
    'that streams, as %s, although it was not to, is understood',
    async (type) => {
      expect(await ask(make(await answering(streamed, type)))).toMatchObject({ text: 'Hi', model: 'served-model' });
    },
  );

  it.each([
    [{ error: { message: 'the model is overloaded', type: 'overloaded_error' } }, 'provider_overloaded', true],
    [{ error: { message: 'upstream went away', code: 502 } }, 'provider', true],
    [{ type: 'error', error: { type: 'invalid_request_error', message: 'no such field' } }, 'provider', false],
    [{ error: 'the model is gone' }, 'provider', true],
    [{}, 'provider', true],
    [{ choices: [], content: null, output: null }, 'provider', true],
    ['{"choices":[{"message":{"content":"half', 'provider', true],
    ['', 'provider', true],
  ])('that says %j with status 200 has failed', async (body, code, retryable) => {
    const error = await ask(make(await answering(body))).catch((each: unknown) => each);
    expect(error).toMatchObject({ code, details: { retryable } });
    const said = typeof body === 'object' && 'error' in body ? body.error : undefined;
    if (said) expect((error as Error).message).toContain(typeof said === 'string' ? said : said.message);
  });

  it('is asked again after such an answer', async () => {
    server = await streamServer((answer, count) => json(answer, count === 1 ? { error: { code: 503 } } : plain));
    const reply = await ask(withRetry(make(server.url), { clock: new FakeClock() }));
    expect(reply.text).toBe('Hi');
    expect(server.bodies).toHaveLength(2);
  });

  it('may take longer to begin than a stream may be silent, also after its head', async () => {
    server = await streamServer((answer, count) => {
      if (count === 2) answer.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      setTimeout(() => (count === 2 ? answer.end(JSON.stringify(plain)) : json(answer, plain)), 400);
    });
    for (let round = 0; round < 2; round++) {
      expect((await ask(make(server.url, { idleTimeout: 100 }))).text).toBe('Hi');
    }
  });

  it('is given up when it does not begin in time, or falls silent in the middle', async () => {
    server = await streamServer((answer, count) => {
      if (count === 2) answer.writeHead(200, { 'content-type': 'application/json' }).write('{"choices":[');
    });
    const late = await ask(make(server.url, { answerTimeout: 150 })).catch((each: unknown) => each);
    expect(late).toMatchObject({ code: 'provider', details: { retryable: true } });
    expect((late as Error).message).toContain('nothing arrived for 0.15 s');
    const silent = await ask(make(server.url, { idleTimeout: 150 })).catch((each: unknown) => each);
    expect((silent as Error).message).toContain('nothing arrived for 0.15 s');
  });

  it('is not silent while it sends white space', async () => {
    server = await streamServer((answer) => {
      answer.writeHead(200, { 'content-type': 'application/json' });
      let beats = 0;
      const timer = setInterval(() => {
        if (++beats < 8) return void answer.write('\n');
        clearInterval(timer);
        answer.end(JSON.stringify(plain));
      }, 60);
    });
    expect((await ask(make(server.url, { idleTimeout: 300 }))).text).toBe('Hi');
  });

  it('stops with the deadline of the whole call, and when it is cancelled', async () => {
    server = await streamServer(() => {});
    const started = Date.now();
    const late = await ask(withRetry(make(server.url), { deadline: 200 })).catch((each: unknown) => each);
    expect((late as Error).message).toContain('no whole answer within 0.2 s');
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 100);
    const cancelled = await ask(make(server.url), { signal: controller.signal }).catch((each: unknown) => each);
    expect(cancelled).toMatchObject({ code: 'cancelled' });
    expect(Date.now() - started).toBeLessThan(5_000);
  });
});

it('a choice that failed is a failure, streamed or not', async () => {
  const choice = { index: 0, message: { content: '' }, finish_reason: 'error', error: { code: 502, message: 'gone' } };
  const whole = await ask(openai(await answering({ choices: [choice] }))).catch((each: unknown) => each);
  expect(whole).toMatchObject({ code: 'provider', details: { status: 502, retryable: true } });
  await server?.close();
  server = await streamServer((answer) => {
    openStream(answer);
    const { message: delta, ...rest } = choice;
    answer.end(`data: ${JSON.stringify({ choices: [{ delta, ...rest }] })}\n\n`);
  });
  const streamed = await ask(openai(server.url, { stream: true })).catch((each: unknown) => each);
  expect(streamed).toMatchObject({ code: 'provider', details: { status: 502, retryable: true } });
});

it("Node's own limit on the time to an answer's head holds for streams alone", async () => {
  await fetch('http://127.0.0.1:9').catch(() => {});
  const place = Symbol.for('undici.globalDispatcher.1') as unknown as keyof typeof globalThis;
  const usual = globalThis[place] as object;
  const Agent = usual.constructor as new (options: object) => object;
  Object.assign(globalThis, { [place]: new Agent({ headersTimeout: 300 }) });
  try {
    server = await streamServer((answer) => void setTimeout(() => json(answer, completion({ content: 'Hi' })), 2_500));
    const [whole, streamed] = await Promise.all([
      ask(openai(server.url)),
      ask(openai(server.url, { stream: true })).catch((each: unknown) => each),
    ]);
    expect(whole).toMatchObject({ text: 'Hi' });
    expect(streamed).toMatchObject({ code: 'provider', details: { retryable: true } });
  } finally {
    Object.assign(globalThis, { [place]: usual });
  }
});

describe.each([true, false])("Mistral's thinking, streamed (%s) or not,", (stream) => {
  const thought = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
  const call = { id: 'D681PevKs', type: 'function', function: { name: 'grep', arguments: '{"a":1}' } };

  it.each([
    ['mistral', [thought('hm, so'), { type: 'text', text: 'Look.' }]],
    // A server that nobody knows to take such parts gets the text alone.
    ['somebody', 'Look.'],
  ])('comes as a part of the content, and goes back to %s', async (name, content) => {
    server = await streamServer((answer, count) => {
      if (count > 1) return json(answer, completion({ content: 'done' }));
      const parts = [thought('hm, so'), { type: 'text', text: 'Look.' }];
      if (!stream) return json(answer, completion({ content: parts, tool_calls: [call] }, 'tool_calls'));
      openStream(answer);
      answer.end(
        chat({ content: [thought('hm, ')] }) +
          chat({ content: [thought('so')] }) +
          chat({ content: 'Look.', tool_calls: [{ index: 0, ...call }] }, 'tool_calls'),
      );
    });
    const client = openai(server.url, { name, stream });
    const reply = await ask(client);
    expect(reply).toMatchObject({ text: 'Look.', reasoning: 'hm, so', providerState: { reasoningField: 'content' } });
    const { text, reasoning, toolCalls, providerState } = reply;
    const turn: Message = { role: 'assistant', text, reasoning, toolCalls, providerState };
    await client.generate(request([user('x'), turn, result('D681PevKs', 'grep', 'found')]), { signal: never });
    const messages = (server.bodies[1]?.messages ?? []) as unknown[];
    expect(messages[1]).toEqual({ role: 'assistant', content, tool_calls: [call] });
  });
});
