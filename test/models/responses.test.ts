import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/messages.ts';
import { responsesClient } from '../../src/models/responses.ts';
import { toResponsesBody } from '../../src/models/responses-body.ts';
import { withRetry } from '../../src/models/retry.ts';
import { FakeClock } from './fake-clock.ts';
import { steps } from './histories.ts';
import { assistant, collect, never, request, result, user } from './requests.ts';
import { event, openStream, type StreamServer, streamServer } from './stream-server.ts';

let server: StreamServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const tools = [{ name: 'grep', description: 'Find.', parameters: { type: 'object' } }];
const options = { provider: 'openai', cacheKey: true };

const answering = async (...answers: string[]) => {
  server = await streamServer((response, count) => {
    openStream(response);
    response.end(answers[count - 1] ?? answers.at(-1));
  });
  return responsesClient({ name: 'local', baseUrl: server.url, apiKey: 'k'.repeat(12) });
};

const ask = (client: ReturnType<typeof responsesClient>, messages: Message[] = [user('x')], more = {}) =>
  client.generate(request(messages, { model: 'gpt-5', tools, ...more }), { signal: never });

const added = (output_index: number, item: object) => event('response.output_item.added', { output_index, item });
const done = (output_index: number, item: object) => event('response.output_item.done', { output_index, item });
const completed = (more: object = {}) =>
  event('response.completed', { response: { model: 'served-model', status: 'completed', output: [], ...more } });

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'SECRET==' };
const call = (id: string, args: string) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'grep',
  arguments: args,
});

describe('the body of a Responses request', () => {
  it('extends that of the one before, byte for byte', () => {
    fc.assert(
      fc.property(steps, (session) => {
        const bodies = session.map((_, index) =>
          JSON.stringify(
            toResponsesBody(
              request(session.slice(0, index + 1).flat(), {
                tools,
                system: 'You are.',
                toolChoice: index % 2 ? 'none' : 'auto',
                effort: index % 2 ? 'high' : undefined,
              }),
              options,
            ),
          ),
        );
        for (const [index, body] of bodies.entries()) {
          const next = bodies[index + 1];
          const common = body.slice(0, body.indexOf('],"stream":true'));
          expect(common).toContain('"input":[');
          if (next !== undefined) expect(next.startsWith(common)).toBe(true);
        }
      }),
    );
  });

  it('is stateless, asks for encrypted reasoning, and names limit, effort and session as that API does', () => {
    const asked = request([user('go')], {
      model: 'gpt-5',
      tools,
      system: 'S',
      effort: 'low',
      maxOutputTokens: 9,
      toolChoice: 'none',
    });
    expect(toResponsesBody(asked, { ...options, parallelTools: false })).toEqual({
      model: 'gpt-5',
      tools: [{ type: 'function', name: 'grep', description: 'Find.', parameters: { type: 'object' }, strict: false }],
      instructions: 'S',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'go' }] }],
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      tool_choice: 'none',
      parallel_tool_calls: false,
      max_output_tokens: 9,
      reasoning: { effort: 'low' },
      prompt_cache_key: 's_0000test',
    });
  });

  it('asks a model that does not reason for no reasoning: it would refuse', () => {
    for (const model of ['gpt-4.1-mini', 'gpt-4o', 'gpt-5-chat-latest', 'openai/gpt-4o']) {
      const body = toResponsesBody(request([user('x')], { model, effort: 'high' }), options);
      expect(body).not.toHaveProperty('include');
      expect(body).not.toHaveProperty('reasoning');
    }
  });

  const thought = (provider: string, calls: [string, string][] = [['c1', 'grep']]): Message => ({
    ...assistant('', calls),
    providerState: { wire: 'responses', provider, items: [reasoning, { type: 'function_call' }] },
  });

  it('sends reasoning back to who made it, before the calls it led to, and to nobody else', () => {
    const types = (message: Message) => {
      const body = toResponsesBody(request([user('x'), message, result('c1', 'grep', 'found')]), options);
      return (body.input as { type?: string }[]).map(({ type }) => type);
    };
    expect(types(thought('openai'))).toEqual([undefined, 'reasoning', 'function_call', 'function_call_output']);
    expect(types(thought('azure'))).toEqual([undefined, 'function_call', 'function_call_output']);
    const chat = { ...assistant('', [['c1', 'grep']]), providerState: { wire: 'chat', reasoningField: 'reasoning' } };
    expect(types(chat)).toEqual([undefined, 'function_call', 'function_call_output']);
  });

  it('leaves out reasoning whose calls were left out', () => {
    const body = toResponsesBody(request([user('x'), { ...thought('openai', []), text: 'so' } as Message]), options);
    expect(JSON.stringify(body.input)).not.toContain('SECRET');
    expect(JSON.stringify(body.input)).toContain('"so"');
  });

  it('sends no id of another server that is longer than 64, and one id for a call and its result', () => {
    const ids = ['a'.repeat(64), 'b'.repeat(65)] as const;
    const calls = ids.map((id): [string, string] => [id, 'grep']);
    const history = [user('x'), assistant('', calls), ...ids.map((id) => result(id, 'grep', 'found'))];
    const { input } = toResponsesBody(request(history), options) as { input: { call_id?: string }[] };
    const sent = input.slice(1).map((item) => item.call_id);
    expect(sent.slice(0, 2)).toEqual([ids[0], expect.stringMatching(/^\w{9}$/)]);
    expect(sent.slice(2)).toEqual(sent.slice(0, 2));
  });

  it('leaves it out in the middle, too', () => {
    const items = [{ type: 'reasoning', id: 'rs_1', encrypted_content: 'SECRET' }, { type: 'function_call' }];
    const providerState = { wire: 'responses', provider: 'openai', items: [...items, { type: 'message' }] };
    const turn = { role: 'assistant', text: 'so', toolCalls: [], providerState } as Message;
    const body = toResponsesBody(request([user('x'), turn]), options);
    expect(JSON.stringify(body.input)).not.toContain('SECRET');
    expect(JSON.stringify(body.input)).toContain('"so"');
  });
});

describe('a Responses stream', () => {
  it('brings reasoning, text and calls, which go back in their order', async () => {
    const first =
      event('response.created', { response: { model: 'served-model' } }) +
      added(0, { type: 'reasoning', id: 'rs_1', summary: [] }) +
      event('response.reasoning_summary_text.delta', { output_index: 0, item_id: 'rs_1', delta: 'hm' }) +
      done(0, { ...reasoning, summary: [{ type: 'summary_text', text: 'hm' }] }) +
      added(1, { type: 'message', id: 'msg_1', role: 'assistant', content: [] }) +
      event('response.output_text.delta', { output_index: 1, delta: 'Look' }) +
      event('response.output_text.delta', { output_index: 1, delta: 'ing.' }) +
      done(1, {
        type: 'message',
        id: 'msg_1',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'Looking.' }],
      }) +
      added(2, call('c1', '')) +
      event('response.function_call_arguments.delta', { output_index: 2, delta: '{"a":' }) +
      event('response.function_call_arguments.delta', { output_index: 2, delta: '1}' }) +
      done(2, call('c1', '{"a":1}')) +
      done(3, call('c2', '{"a":2}')) +
      completed({
        usage: {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 64, cache_write_tokens: 30 },
          output_tokens: 20,
          output_tokens_details: { reasoning_tokens: 8 },
        },
      });
    const client = await answering(first, completed());
    const seen = collect();
    const reply = await client.generate(request([user('x')], { model: 'gpt-5', tools }), { signal: never, ...seen });
    expect(reply).toMatchObject({
      text: 'Looking.',
      reasoning: 'hm',
      finishReason: 'tool_calls',
      model: 'served-model',
      usage: { input: 100, output: 20, cache_read: 64, cache_write: 30, reasoning: 8 },
      toolCalls: [
        { id: 'c1', name: 'grep', arguments: '{"a":1}' },
        { id: 'c2', name: 'grep', arguments: '{"a":2}' },
      ],
    });
    expect(seen.text()).toBe('Looking.');
    const turn: Message = {
      ...assistant('Looking.', [
        ['c1', 'grep', '{"a":1}'],
        ['c2', 'grep', '{"a":2}'],
      ]),
      providerState: JSON.parse(JSON.stringify(reply.providerState)),
    };
    await ask(client, [user('x'), turn, result('c1', 'grep', 'one'), result('c2', 'grep', 'two')]);
    expect((server?.bodies[1]?.input as unknown[] | undefined)?.slice(1)).toEqual([
      { ...reasoning, summary: [{ type: 'summary_text', text: 'hm' }] },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Looking.' }],
        phase: 'commentary',
      },
      { type: 'function_call', call_id: 'c1', name: 'grep', arguments: '{"a":1}' },
      { type: 'function_call', call_id: 'c2', name: 'grep', arguments: '{"a":2}' },
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      { type: 'function_call_output', call_id: 'c2', output: 'two' },
    ]);
  });

  it('may hold nothing but its end', async () => {
    const message = { type: 'message', id: 'm', content: [{ type: 'output_text', text: 'whole' }] };
    const client = await answering(completed({ output: [message, call('', '{}')] }));
    const reply = await ask(client);
    expect(reply).toMatchObject({ text: 'whole', toolCalls: [{ name: 'grep' }] });
    expect(reply.toolCalls[0]?.id).not.toBe('');
    expect(reply.usage.output).toBeGreaterThan(0);
  });

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['something_new', 'something_new'],
  ])('that is incomplete for %s ends with %s', async (reason, finishReason) => {
    const client = await answering(
      event('response.output_text.delta', { output_index: 0, delta: 'half' }) +
        event('response.incomplete', { response: { status: 'incomplete', incomplete_details: { reason } } }),
    );
    expect(await ask(client)).toMatchObject({ text: 'half', finishReason });
  });

  it('that refuses says what the model said', async () => {
    const client = await answering(
      event('response.refusal.delta', { output_index: 0, delta: 'I cannot.' }) + completed(),
    );
    expect(await ask(client)).toMatchObject({ text: 'I cannot.', finishReason: 'content_filter' });
  });

  it.each([
    ['server_error', 'provider', true],
    ['rate_limit_exceeded', 'provider_overloaded', true],
    ['context_length_exceeded', 'context_length', false],
    ['insufficient_quota', 'provider', false],
    ['invalid_prompt', 'provider', false],
  ])('that fails with %s is %s', async (code, expected, retryable) => {
    const error = { code, message: code === 'insufficient_quota' ? 'insufficient_quota' : 'no' };
    const failed = event('response.failed', { response: { status: 'failed', error } });
    const client = await answering(failed, event('error', error));
    for (let round = 0; round < 2; round++) {
      expect(await ask(client).catch((each) => each)).toMatchObject({ code: expected, details: { retryable } });
    }
  });

  it('that ends without an end is a cut one, and tried again', async () => {
    const half = event('response.output_text.delta', { output_index: 0, delta: 'half' });
    const client = await answering(half, half, half + completed());
    const reply = await withRetry(client, { clock: new FakeClock() }).generate(request([user('x')]), { signal: never });
    expect(reply.text).toBe('half');
    expect(server?.bodies).toHaveLength(3);
  });

  it('keeps no reasoning that nobody could read again', async () => {
    const client = await answering(
      done(0, { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] }) +
        done(1, call('c1', '{}')) +
        completed(),
    );
    const reply = await ask(client);
    expect(reply.reasoning).toBe('hm');
    expect(reply.providerState).toBeUndefined();
  });
});
