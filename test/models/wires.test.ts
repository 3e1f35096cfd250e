import { describe, expect, it } from 'vitest';
import type { ReasonixError } from '../../src/core/errors.ts';
import type { Message } from '../../src/core/messages.ts';
import { anthropicClient } from '../../src/models/anthropic.ts';
import type { ModelClient, ModelReply } from '../../src/models/contract.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { responsesClient } from '../../src/models/responses.ts';
import { withRetry } from '../../src/models/retry.ts';
import type { WireOptions } from '../../src/models/wire.ts';
import { mockServer } from '../helpers/mock-server.ts';
import { FakeClock } from './fake-clock.ts';
import { assistant, collect, never, request, result, user } from './requests.ts';

/** The same behaviour on all wires, against a server that we did not write. */
const KEY = 'sk-test-0123456789abcdef';
const mock = mockServer();

const tools = ['get_weather', 'get_time'].map((name) => ({
  name,
  description: name,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
}));

const wires: [name: string, make: (options?: Partial<WireOptions>) => ModelClient, model: string][] = [
  [
    'openai',
    (o) => openaiClient({ name: 'mock', baseUrl: `${mock.url}/v1`, apiKey: KEY, keyVariable: 'MOCK_KEY', ...o }),
    'gpt-5',
  ],
  [
    'responses',
    (o) => responsesClient({ name: 'mock', baseUrl: `${mock.url}/v1`, apiKey: KEY, keyVariable: 'MOCK_KEY', ...o }),
    'gpt-5',
  ],
  [
    'anthropic',
    (o) => anthropicClient({ name: 'mock', baseUrl: `${mock.url}/v1`, apiKey: KEY, keyVariable: 'MOCK_KEY', ...o }),
    'claude-sonnet-4-5',
  ],
];

const failure = (promise: Promise<unknown>): Promise<ReasonixError> =>
  promise.then(
    () => {
      throw new Error('it should have failed');
    },
    (error: ReasonixError) => error,
  );

const answered = (reply: ModelReply): Message => ({
  role: 'assistant',
  text: reply.text,
  reasoning: reply.reasoning,
  toolCalls: reply.toolCalls,
  providerState: reply.providerState,
});

/** Each wire twice: with answers in a stream, and in one piece. */
const ways = wires.flatMap(([wire, make, model]) =>
  [true, false].map((streams) => ({
    wire,
    streams,
    way: streams ? 'streamed' : 'not streamed',
    make: (options: Partial<WireOptions> = {}) => make({ ...(streams ? {} : { stream: false }), ...options }),
    model,
  })),
);

describe.each(ways)('the $wire wire, $way,', ({ wire, streams, make, model }) => {
  const ask = (client: ModelClient, messages: Message[], more = {}, options = {}): Promise<ModelReply> =>
    client.generate(request(messages, { model, system: 'You are.', ...more }), { signal: never, ...options });

  it('brings text', async () => {
    mock.onMessage(
      'hello',
      {
        content: 'Hi there, 你好 🎯!',
        usage: { input_tokens: 11, output_tokens: 5, prompt_tokens: 11, completion_tokens: 5 },
      },
      { chunkSize: 3 },
    );
    const seen = collect();
    const reply = await ask(make(), [user('hello')], {}, seen);
    expect(reply.text).toBe('Hi there, 你好 🎯!');
    expect(seen.text()).toBe(reply.text);
    if (streams) expect(seen.deltas.length).toBeGreaterThan(3);
    else expect(seen.deltas.filter(({ type }) => type === 'text')).toHaveLength(1);
    expect(mock.getLastRequest()?.body).toMatchObject({ stream: streams });
    expect(reply).toMatchObject({ finishReason: 'stop', toolCalls: [] });
    expect(reply.usage.output).toBeGreaterThan(0);
    // A model that reasons may leave something to be sent back, on the wire that carries it.
    if (wire !== 'responses') expect(reply.providerState).toBeUndefined();
  });

  it('brings parallel tool calls, and takes their results', async () => {
    mock.on(
      { userMessage: 'weather', hasToolResult: false },
      {
        content: 'Looking.',
        toolCalls: [
          { name: 'get_weather', arguments: '{"city":"Paris"}' },
          { name: 'get_weather', arguments: '{"city":"Rome"}' },
          { name: 'get_time', arguments: '{}' },
        ],
      },
      { chunkSize: 4 },
    );
    mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'Sunny.' });
    const client = make();
    const reply = await ask(client, [user('weather')], { tools });
    expect(reply.text).toBe('Looking.');
    expect(reply.finishReason).toBe('tool_calls');
    expect(reply.toolCalls.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual([
      ['get_weather', { city: 'Paris' }],
      ['get_weather', { city: 'Rome' }],
      ['get_time', {}],
    ]);
    expect(new Set(reply.toolCalls.map(({ id }) => id)).size).toBe(3);
    const results = reply.toolCalls.map((call) => result(call.id, call.name, 'sunny'));
    expect((await ask(client, [user('weather'), answered(reply), ...results], { tools })).text).toBe('Sunny.');
  });

  it('collects reasoning, and sends it back with the calls it led to', async () => {
    mock.on(
      { userMessage: 'think', hasToolResult: false },
      {
        reasoning: 'Let me see.',
        reasoningSignature: 'sig-1',
        toolCalls: [{ name: 'get_time', arguments: '{}' }],
      },
    );
    mock.on({ userMessage: 'think', hasToolResult: true }, { content: 'Noon.' });
    const client = make();
    const seen = collect();
    const reply = await ask(client, [user('think')], { tools, effort: 'low' }, seen);
    expect(reply.reasoning).toBe('Let me see.');
    expect(seen.deltas[0]?.type).toBe('reasoning');
    const [call] = reply.toolCalls;
    await ask(client, [user('think'), answered(reply), result(call?.id ?? '', 'get_time', '12:00')], {
      tools,
      effort: 'low',
    });
    // The messages wire is journalled without its thinking blocks; the server refuses a request that lacks them.
    if (wire === 'openai')
      expect(JSON.stringify(mock.getLastRequest()?.body)).toContain('"reasoning_content":"Let me see."');
    else if (wire === 'responses')
      expect(reply.providerState).toMatchObject({
        wire: 'responses',
        items: [{ type: 'reasoning', encrypted_content: expect.any(String) }, { type: 'function_call' }],
      });
    else
      expect(reply.providerState).toMatchObject({
        blocks: [{ type: 'thinking', signature: 'sig-1' }, { type: 'tool_use' }],
      });
  });

  it.each([
    [429, 'provider_overloaded', true],
    [500, 'provider', true],
    [529, 'provider_overloaded', true],
    [408, 'provider', true],
    [400, 'provider', false],
    [401, 'provider_auth', false],
    [403, 'provider_auth', false],
  ])('explains %i', async (status, code, retryable) => {
    mock.onMessage('x', {
      error: { message: `no: Authorization: Bearer ${KEY}`, type: 'some_error' },
      status,
      retryAfter: 7,
    });
    const error = await failure(ask(make(), [user('x')]));
    expect(error).toMatchObject({ code, details: { status, retryable, provider: 'mock' } });
    if (status === 429) expect(error.details.retryAfter).toBe(7000);
    if (status === 401) expect(error.hint).toContain('MOCK_KEY');
  });

  it('G07 leaks no key, whatever the server echoes', async () => {
    mock.onMessage('x', { error: { message: `bad key ${KEY} in "authorization": "Bearer ${KEY}"` }, status: 401 });
    const client = make({ headers: { 'x-team': 'very-secret-team-value' } });
    const error = await failure(ask(client, [user('x')]));
    const { inspect } = await import('node:util');
    for (const text of [inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error), String(error.stack)]) {
      expect(text).not.toContain(KEY);
      expect(text).not.toContain('very-secret-team-value');
    }
    expect(error.message).toContain('***');
  });

  it('tells a context that is too long', async () => {
    const message =
      wire !== 'anthropic'
        ? "This model's maximum context length is 8192 tokens"
        : 'prompt is too long: 210000 tokens > 200000 maximum';
    mock.onMessage('x', { error: { message, type: 'invalid_request_error' }, status: 400 });
    expect(await failure(ask(make(), [user('x')]))).toMatchObject({
      code: 'context_length',
      details: { retryable: false },
    });
  });

  it('tells a model that the server does not have', async () => {
    mock.onMessage('x', { error: { message: `model: ${model}`, type: 'not_found_error' }, status: 404 });
    expect(await failure(ask(make(), [user('x')]))).toMatchObject({
      code: 'model_not_found',
      hint: expect.stringContaining(model),
    });
  });

  it.runIf(streams)('tells a stream that was cut, with what had come', async () => {
    mock.onMessage(
      'x',
      { content: 'one two three four five six' },
      // Events that come before the text count as chunks, too.
      { chunkSize: 4, latency: 5, truncateAfterChunks: wire === 'responses' ? 9 : 5 },
    );
    const error = await failure(ask(make(), [user('x')]));
    expect(error).toMatchObject({ code: 'provider', details: { retryable: true } });
    expect('one two three four five six').toContain(String(error.details.partialText));
    expect(error.details.partialText).not.toBe('');
  });

  it.runIf(streams)('stops in the middle of a stream when it is cancelled', async () => {
    mock.onMessage('x', { content: 'word '.repeat(400) }, { chunkSize: 5, latency: 20 });
    const controller = new AbortController();
    const error = await failure(
      ask(make(), [user('x')], {}, { signal: controller.signal, onDelta: () => controller.abort() }),
    );
    expect(error).toMatchObject({ code: 'cancelled', details: { partialText: expect.stringMatching(/^word/) } });
  });

  it.runIf(streams)('F18 goes on after 429 with Retry-After, 529 and a cut stream', async () => {
    const faults = [
      { error: { message: 'slow down' }, status: 429, retryAfter: 3 },
      { error: { message: 'overloaded', type: 'overloaded_error' }, status: 529 },
    ];
    for (const [sequenceIndex, response] of faults.entries()) mock.on({ userMessage: 'x', sequenceIndex }, response);
    mock.on(
      { userMessage: 'x', sequenceIndex: 2 },
      { content: 'broken off here' },
      { chunkSize: 3, latency: 5, truncateAfterChunks: 3 },
    );
    mock.on({ userMessage: 'x' }, { content: 'whole answer' });
    const clock = new FakeClock();
    const seen = collect();
    const reply = await ask(withRetry(make(), { clock }), [user('x')], {}, seen);
    expect(reply.text).toBe('whole answer');
    const retries = seen.deltas.filter((delta) => delta.type === 'retry');
    expect(retries.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(retries[0]?.delay).toBeGreaterThanOrEqual(3000);
    expect(mock.getRequests()).toHaveLength(4);
  });

  it('does not repeat a refused key', async () => {
    mock.onMessage('x', { error: { message: 'no' }, status: 401 });
    expect(await failure(ask(withRetry(make()), [user('x')]))).toMatchObject({ code: 'provider_auth' });
    expect(mock.getRequests()).toHaveLength(1);
  });

  it('tells a server that is not there', async () => {
    const error = await failure(ask(make({ baseUrl: 'http://user:hunter22@127.0.0.1:9/v1' }), [user('x')]));
    expect(error).toMatchObject({ code: 'provider', details: { retryable: true } });
    expect(`${error.message} ${error.hint}`).toContain('127.0.0.1:9');
    expect(`${error.message} ${error.hint}`).not.toContain('hunter22');
  });

  it('sends the key, and nothing in its place without one', async () => {
    mock.onMessage('x', { content: 'y' });
    await ask(make(), [user('x')]);
    const sent = mock.getLastRequest()?.headers ?? {};
    expect(Object.values(sent).join(' ')).toMatch(/\*|sk-test|Bearer/);
    await ask(make({ apiKey: undefined }), [user('x')]);
    const bare = mock.getLastRequest()?.headers ?? {};
    expect(bare.authorization).toBeUndefined();
    expect(bare['x-api-key']).toBeUndefined();
  });

  // The server sends no broken arguments on the messages wire: see streams.test.ts.
  it.skipIf(wire === 'anthropic')('never lets a call run that was cut off', async () => {
    mock.onMessage('x', {
      toolCalls: [
        { name: 'get_time', arguments: '{}' },
        { name: 'get_weather', arguments: '{"city":"Par' },
      ],
      finishReason: 'length',
    });
    const reply = await ask(make(), [user('x')], { tools });
    expect(reply.finishReason).toBe('length');
    expect(reply.toolCalls.map(({ name, isCut }) => [name, isCut])).toEqual([
      ['get_time', undefined],
      ['get_weather', true],
    ]);
  });

  it.skipIf(wire === 'anthropic')(
    'mends what can only mean one thing, and leaves the rest to be answered',
    async () => {
      mock.onMessage('x', {
        toolCalls: [
          { name: 'get_weather', arguments: '{"city":"Paris",}' },
          { name: 'get_weather', arguments: "{'city': 'Rome'}" },
        ],
      });
      const { toolCalls } = await ask(make(), [user('x')], { tools });
      expect(toolCalls.map(({ arguments: text }) => text)).toEqual(['{"city":"Paris"}', "{'city': 'Rome'}"]);
      expect(toolCalls.some(({ isCut }) => isCut)).toBe(false);
    },
  );

  it('makes one call a step where that is configured, whatever the server does', async () => {
    mock.on(
      { userMessage: 'x', hasToolResult: false },
      {
        reasoning: 'Two.',
        reasoningSignature: 's',
        toolCalls: [
          { name: 'get_time', arguments: '{}' },
          { name: 'get_weather', arguments: '{"city":"Paris"}' },
        ],
      },
    );
    mock.on({ userMessage: 'x', hasToolResult: true }, { content: 'Noon.' });
    const client = make({ parallelTools: false });
    const reply = await ask(client, [user('x')], { tools });
    expect(reply.toolCalls.map(({ name }) => name)).toEqual(['get_time']);
    const [call] = reply.toolCalls;
    const next = [user('x'), answered(reply), result(call?.id ?? '', 'get_time', '12:00')];
    expect((await ask(client, next, { tools })).text).toBe('Noon.');
  });

  it('gives calls that share an id ids of their own', async () => {
    mock.onMessage('x', {
      toolCalls: [
        { id: 'same', name: 'get_time', arguments: '{}' },
        { id: 'same', name: 'get_weather', arguments: '{"city":"Paris"}' },
      ],
    });
    const { toolCalls } = await ask(make(), [user('x')], { tools });
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(2);
    expect(toolCalls[0]?.id).toBe('same');
  });

  it('answers a history that goes on after a broken one', async () => {
    mock.onMessage('again', { content: 'fine' });
    const messages = [user('go'), assistant('', [['c1', 'get_time', '{broken']]), user('again')];
    expect((await ask(make(), messages, { tools })).text).toBe('fine');
  });
});
