import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/messages.ts';
import { toAnthropicBody, toAnthropicMessages } from '../../src/models/anthropic-body.ts';
import { dialectOf } from '../../src/models/dialects.ts';
import { estimateUsage } from '../../src/models/estimate.ts';
import { toOpenAIBody } from '../../src/models/openai-body.ts';
import { toResponsesBody } from '../../src/models/responses-body.ts';
import { steps } from './histories.ts';
import { assistant, request, result, user } from './requests.ts';

const tools = [
  { name: 'grep', description: 'Find.', parameters: { type: 'object', properties: { pattern: { type: 'string' } } } },
  { name: 'read_file', description: 'Read.', parameters: { type: 'object' } },
];

const dialects = [
  'https://api.openai.com/v1',
  'https://api.deepseek.com',
  'https://openrouter.ai/api/v1',
  'http://127.0.0.1:1/v1',
];

/** The requests of a session: one before each answer. */
const requestsOf = (session: Message[][]) =>
  session.map((_, index) => request(session.slice(0, index + 1).flat(), { tools, system: 'You are.' }));

const withoutMarks = (json: string): string => json.replaceAll(',"cache_control":{"type":"ephemeral"}', '');

describe('the bytes of a request', () => {
  it.each(dialects)('extend those of the one before: %s', (baseUrl) => {
    const dialect = dialectOf({ name: 'x', baseUrl });
    fc.assert(
      fc.property(steps, (session) => {
        const bodies = requestsOf(session).map((each, index) =>
          JSON.stringify(
            toOpenAIBody(
              { ...each, toolChoice: index % 2 ? 'none' : 'auto', effort: index % 2 ? 'high' : undefined },
              { dialect },
            ),
          ),
        );
        for (const [index, body] of bodies.entries()) {
          const next = bodies[index + 1];
          const common = body.slice(0, body.indexOf('],"stream":true'));
          expect(common).toContain('"messages":[');
          if (next !== undefined) expect(next.startsWith(common)).toBe(true);
        }
      }),
    );
  });

  it('extend those of the one before, on the messages wire but for the marks', () => {
    fc.assert(
      fc.property(steps, (session) => {
        const bodies = requestsOf(session).map((each) => withoutMarks(JSON.stringify(toAnthropicBody(each))));
        for (const [index, body] of bodies.entries()) {
          const next = bodies[index + 1];
          // A message that follows another of the user joins it: its list of blocks is the end that counts.
          const common = body.slice(0, body.indexOf(']}],"stream":true'));
          expect(common).toContain('"messages":[');
          if (next !== undefined) expect(next.startsWith(common)).toBe(true);
        }
      }),
    );
  });

  it('hold tools and system before the messages', () => {
    const asked = request([user('x')], { tools, system: 'You are.' });
    expect(Object.keys(toOpenAIBody(asked, { dialect: dialectOf({ name: 'x' }) }))).toEqual([
      'model',
      'tools',
      'messages',
      'stream',
      'stream_options',
      'prompt_cache_key',
    ]);
    expect(Object.keys(toAnthropicBody(asked)).slice(0, 4)).toEqual(['model', 'tools', 'system', 'messages']);
  });
});

describe('chat completions', () => {
  const compatible = dialectOf({ name: 'x', baseUrl: 'http://127.0.0.1:1/v1' });

  it('writes a history', () => {
    const messages = [
      user('go'),
      assistant('', [
        ['c1', 'grep', '{"pattern":"x"}'],
        ['c2', 'grep', '{broken'],
      ]),
      result('c1', 'grep', 'found'),
      result('c2', 'grep', 'bad arguments', true),
      assistant('done'),
    ];
    expect(toOpenAIBody(request(messages, { system: 'S' }), { dialect: compatible }).messages).toEqual([
      { role: 'system', content: 'S' },
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'grep', arguments: '{"pattern":"x"}' } },
          { id: 'c2', type: 'function', function: { name: 'grep', arguments: '{"input":"{broken"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'found' },
      { role: 'tool', tool_call_id: 'c2', content: 'bad arguments' },
      { role: 'assistant', content: 'done' },
    ]);
  });

  const reasoned = (field?: string): Message[] => {
    const state = field === undefined ? {} : { providerState: { wire: 'chat', reasoningField: field } };
    return [
      user('go'),
      { ...assistant('', [['c1', 'grep']]), reasoning: 'because', ...state },
      result('c1', 'grep', 'found'),
      { ...assistant('so', [['c2', 'grep']]) },
      result('c2', 'grep', 'found'),
      { ...assistant('plain'), reasoning: 'hm', ...state },
      user('next'),
    ];
  };

  const sentBack = (baseUrl: string, model: string, messages: Message[]): unknown[] => {
    const dialect = dialectOf({ name: 'x', baseUrl, model });
    const body = toOpenAIBody(request(messages, { model }), { dialect });
    return body.messages.flatMap((message) => {
      const { reasoning_content, reasoning } = message as unknown as Record<string, unknown>;
      return message.role === 'assistant' ? [reasoning_content ?? reasoning ?? null] : [];
    });
  };

  it.each([
    ['https://api.deepseek.com', 'deepseek-v4-pro', ['because', '', 'hm']],
    ['https://api.deepseek.com/v1', 'deepseek-reasoner', ['because', '', null]],
    ['https://api.openai.com/v1', 'gpt-5', [null, null, null]],
    ['http://127.0.0.1:8080/v1', 'qwen3', ['because', null, null]],
  ])('sends reasoning back as %s (%s) wants it', (baseUrl, model, expected) => {
    expect(sentBack(baseUrl, model, reasoned('reasoning_content'))).toEqual(expected);
  });

  it('sends reasoning back in the field it came in, and none that another wire made', () => {
    expect(sentBack('http://127.0.0.1:8080/v1', 'x', reasoned('reasoning'))[0]).toBe('because');
    expect(sentBack('http://127.0.0.1:8080/v1', 'x', reasoned())).toEqual([null, null, null]);
  });

  it('names limit and effort as the server does', () => {
    const asked = request([user('x')], { effort: 'high', maxOutputTokens: 9 });
    const body = (baseUrl: string) => toOpenAIBody(asked, { dialect: dialectOf({ name: 'x', baseUrl }) });
    expect(body('https://api.openai.com/v1')).toMatchObject({ max_completion_tokens: 9, reasoning_effort: 'high' });
    expect(body('https://openrouter.ai/api/v1')).toMatchObject({ max_tokens: 9, reasoning: { effort: 'high' } });
    expect(body('https://api.moonshot.ai/v1')).not.toHaveProperty('reasoning_effort');
  });

  it.each([
    ['https://api.deepseek.com', 'x', 'high', { thinking: { type: 'enabled' }, reasoning_effort: 'high' }],
    ['https://api.deepseek.com', 'x', 'none', { thinking: { type: 'disabled' } }],
    ['https://openrouter.ai/api/v1', 'x', 'none', { reasoning: { effort: 'none' } }],
    ['https://api.moonshot.ai/v1', 'kimi-k2.6', 'none', { thinking: { type: 'disabled' } }],
    ['https://api.moonshot.ai/v1', 'kimi-k2.6', 'high', {}],
    ['https://api.mistral.ai/v1', 'mistral-small-latest', 'medium', { reasoning_effort: 'high' }],
    ['https://api.mistral.ai/v1', 'mistral-large-latest', 'medium', {}],
    ['http://127.0.0.1:11434/v1', 'qwen3', 'none', { reasoning_effort: 'none' }],
    ['http://127.0.0.1:8080/v1', 'qwen3', 'low', { reasoning_effort: 'low' }],
  ])('asks %s (%s) for effort %s', (baseUrl, model, effort, expected) => {
    const bare = toOpenAIBody(request([user('x')], { model }), { dialect: dialectOf({ name: 'x', baseUrl, model }) });
    const body = toOpenAIBody(request([user('x')], { model, effort }), {
      dialect: dialectOf({ name: 'x', baseUrl, model }),
    });
    expect(body).toEqual({ ...bare, ...expected });
  });

  it('asks a server by its name where the address says nothing', () => {
    const body = (name: string, more = {}) =>
      toOpenAIBody(request([user('x')], { effort: 'none', tools }), {
        dialect: dialectOf({ name, baseUrl: 'http://10.0.0.5:8000/v1' }),
        ...more,
      });
    expect(body('vllm')).toMatchObject({ chat_template_kwargs: { enable_thinking: false } });
    expect(body('vllm')).not.toHaveProperty('reasoning_effort');
    expect(body('llama.cpp', { parallelTools: true })).toMatchObject({
      reasoning_effort: 'none',
      parallel_tool_calls: true,
    });
    expect(body('ollama', { parallelTools: false })).not.toHaveProperty('parallel_tool_calls');
  });

  it('sends what the provider sets, unless the request says otherwise', () => {
    const options = { dialect: compatible, effort: 'low', maxOutputTokens: 5 };
    expect(toOpenAIBody(request([user('x')]), options)).toMatchObject({ reasoning_effort: 'low', max_tokens: 5 });
    expect(toOpenAIBody(request([user('x')], { effort: 'high' }), options)).toMatchObject({ reasoning_effort: 'high' });
    expect(toOpenAIBody(request([user('x')], { thinking: 0 }), options)).toMatchObject({ reasoning_effort: 'none' });
    const openrouter = { dialect: dialectOf({ name: 'openrouter', baseUrl: 'http://x/v1' }), thinking: 2_000 };
    expect(toOpenAIBody(request([user('x')]), openrouter)).toMatchObject({ reasoning: { max_tokens: 2_000 } });
  });

  it('sends no field that Mistral refuses', () => {
    const dialect = dialectOf({ name: 'x', baseUrl: 'https://api.mistral.ai/v1' });
    const body = toOpenAIBody(request([user('x')], { maxOutputTokens: 9 }), { dialect });
    expect(body).toEqual({ model: 'm', messages: [{ role: 'user', content: 'x' }], stream: true, max_tokens: 9 });
  });

  it('sends Mistral no id that it refuses, and one id for a call and its result', () => {
    const history = [
      user('x'),
      assistant('', [
        ['D681PevKs', 'grep'],
        ['call_01m8qq58sz', 'grep'],
      ]),
      result('D681PevKs', 'grep', 'a'),
      result('call_01m8qq58sz', 'grep', 'b'),
    ];
    const idsFor = (baseUrl: string) => {
      const { messages } = toOpenAIBody(request(history), { dialect: dialectOf({ name: 'p', baseUrl }) });
      const sent = messages as { tool_calls?: { id: string }[]; tool_call_id?: string }[];
      return [sent[1]?.tool_calls?.map(({ id }) => id), sent.slice(2).map((each) => each.tool_call_id)];
    };
    const [calls, results] = idsFor('https://api.mistral.ai/v1');
    expect(calls).toEqual(['D681PevKs', expect.stringMatching(/^[a-zA-Z0-9]{9}$/)]);
    expect(results).toEqual(calls);
    expect(idsFor('https://api.openai.com/v1')[0]).toEqual(['D681PevKs', 'call_01m8qq58sz']);
  });

  it.each([
    ['https://api.openai.com/v1', 40, true],
    ['https://openrouter.ai/api/v1', 40, true],
    ['http://127.0.0.1:4000/v1', 40, false],
  ])('sends %s no id of another server that is longer than %i, if it refuses those: %s', (baseUrl, most, isCut) => {
    const ids = ['a'.repeat(most), 'b'.repeat(most + 1)] as const;
    const history = [
      user('x'),
      assistant('', [
        [ids[0], 'grep'],
        [ids[1], 'grep'],
      ]),
      result(ids[0], 'grep', 'a'),
      result(ids[1], 'grep', 'b'),
    ];
    const { messages } = toOpenAIBody(request(history), { dialect: dialectOf({ name: 'p', baseUrl }) });
    const sent = messages as { tool_calls?: { id: string }[]; tool_call_id?: string }[];
    const calls = sent[1]?.tool_calls?.map(({ id }) => id);
    expect(calls).toEqual([ids[0], isCut ? expect.stringMatching(/^\w{9}$/) : ids[1]]);
    expect(sent.slice(2).map((each) => each.tool_call_id)).toEqual(calls);
  });

  it('asks no model of OpenAI for effort that would refuse to be asked', () => {
    const body = (model: string) =>
      toOpenAIBody(request([user('x')], { model, effort: 'high' }), { dialect: dialectOf({ name: 'openai', model }) });
    expect(body('gpt-4o-mini')).not.toHaveProperty('reasoning_effort');
    expect(body('gpt-5.1')).toMatchObject({ reasoning_effort: 'high' });
  });

  it('follows each call with its own result where one call is made at a time', () => {
    const messages = [
      user('go'),
      assistant('both', [
        ['c1', 'grep'],
        ['c2', 'grep'],
      ]),
      result('c1', 'grep', 'one'),
      result('c2', 'grep', 'two'),
    ];
    const sent = toOpenAIBody(request(messages, { tools }), { dialect: compatible, parallelTools: false });
    expect(sent.messages.map((message) => [message.role, message.content])).toEqual([
      ['user', 'go'],
      ['assistant', 'both'],
      ['tool', 'one'],
      ['assistant', null],
      ['tool', 'two'],
    ]);
  });

  it('forbids tools and keeps them', () => {
    const body = toOpenAIBody(request([user('x')], { tools, toolChoice: 'none' }), { dialect: compatible });
    expect(body).toMatchObject({ tool_choice: 'none' });
    expect(body.tools).toHaveLength(2);
    expect(toOpenAIBody(request([user('x')], { toolChoice: 'none' }), { dialect: compatible })).not.toHaveProperty(
      'tool_choice',
    );
  });
});

describe('messages', () => {
  it('puts all results of a step into the user message after it, before any text', () => {
    const messages = [
      user('go'),
      assistant('look', [
        ['call:1', 'grep', '{"pattern":"x"}'],
        ['c2', 'grep', ''],
      ]),
      result('call:1', 'grep', 'found'),
      result('c2', 'grep', '', true),
      user('a notice', 'notice'),
      user('a nudge', 'nudge'),
    ];
    expect(toAnthropicMessages(request(messages))).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'look' },
          { type: 'tool_use', id: 'call_1', name: 'grep', input: { pattern: 'x' } },
          { type: 'tool_use', id: 'c2', name: 'grep', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'found' },
          { type: 'tool_result', tool_use_id: 'c2', is_error: true },
          { type: 'text', text: 'a notice' },
          { type: 'text', text: 'a nudge' },
        ],
      },
    ]);
  });

  it('alternates roles and answers each call in the next message, whatever the history', () => {
    fc.assert(
      fc.property(steps, (session) => {
        const messages = toAnthropicMessages(request(session.flat()));
        messages.forEach((message, index) => {
          expect(message.role).toBe(index % 2 === 0 ? 'user' : 'assistant');
          const blocks = message.content as { type: string; id?: string; tool_use_id?: string }[];
          expect(blocks.length).toBeGreaterThan(0);
          const asked = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
          const next = (messages[index + 1]?.content ?? []) as typeof blocks;
          expect(next.slice(0, asked.length).map((block) => block.tool_use_id)).toEqual(asked);
        });
      }),
    );
  });

  it('sends thinking blocks back in their place, with the calls and the text that the log has', () => {
    const blocks = [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text' },
      { type: 'tool_use' },
      { type: 'redacted_thinking', data: 'xx' },
      { type: 'tool_use' },
    ];
    const turn = {
      ...assistant('masked', [
        ['n1', 'grep'],
        ['n2', 'grep'],
      ]),
      providerState: { wire: 'messages', blocks },
    };
    const content = toAnthropicMessages(request([user('x'), turn]))[1]?.content;
    expect(content).toEqual([
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: 'masked' },
      { type: 'tool_use', id: 'n1', name: 'grep', input: {} },
      { type: 'redacted_thinking', data: 'xx' },
      { type: 'tool_use', id: 'n2', name: 'grep', input: {} },
    ]);
    const summedUp = { ...turn, toolCalls: [] };
    const cut = { ...summedUp, providerState: { wire: 'messages', blocks: [{ type: 'redacted_thinking' }] } };
    expect(toAnthropicMessages(request([user('x'), cut]))[1]?.content).toEqual([{ type: 'text', text: cut.text }]);
    // The API refuses a message that ends with thinking.
    expect(toAnthropicMessages(request([user('x'), summedUp]))[1]?.content).toHaveLength(2);
  });

  it('marks at most four places: the prefix, the end, and the end of the request before', () => {
    fc.assert(
      fc.property(steps, (session) => {
        const bodies = requestsOf(session).map((each) => toAnthropicBody(each));
        for (const [index, body] of bodies.entries()) {
          const json = JSON.stringify(body);
          expect(json.split('"cache_control"').length - 1).toBeLessThanOrEqual(4);
          expect(JSON.stringify(body.system)).toContain('cache_control');
          const end = body.messages.at(-1)?.content.at(-1);
          expect(end).toHaveProperty('cache_control');
          const before = bodies[index - 1]?.messages.length;
          if (before !== undefined && body.messages.length > before) {
            const joint = body.messages[before - 1]?.content as object[];
            expect(joint.at(-1)).toHaveProperty('cache_control');
          }
        }
      }),
    );
    const bare = toAnthropicBody(request([user('x')], { tools }));
    expect(bare.tools?.map((tool) => 'cache_control' in tool)).toEqual([false, true]);
  });

  it('asks for thinking as the model takes it', () => {
    const body = (model: string, effort?: string) => toAnthropicBody(request([user('x')], { model, effort }));
    expect(body('claude-sonnet-5', 'high')).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'high' },
    });
    expect(body('claude-sonnet-4-5-20250929', 'low')).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 2048 },
    });
    expect(body('claude-sonnet-5')).not.toHaveProperty('thinking');
    expect(body('claude-3-5-haiku-latest', 'high')).not.toHaveProperty('thinking');
    expect(body('claude-sonnet-5').max_tokens).toBe(32_000);
    expect(body('claude-3-5-haiku-latest').max_tokens).toBe(8_192);
  });
});

describe('pictures in results', () => {
  const picture = { mediaType: 'image/png', data: 'AAAA' };
  const messages = (count = 1): Message[] => [
    user('look'),
    assistant('', [
      ['c1', 'read_file'],
      ['c2', 'read_file'],
    ]),
    { ...result('c1', 'read_file', '[a.png]'), images: Array.from({ length: count }, () => picture) },
    result('c2', 'read_file', 'text'),
    user('next'),
  ];
  const chatBody = (model: string, options = {}) =>
    toOpenAIBody(request(messages(), { model }), {
      dialect: dialectOf({ name: 'x', baseUrl: 'http://x/v1' }),
      ...options,
    });

  it('follow the results of their step on the chat wire', () => {
    const sent = chatBody('gpt-4o').messages;
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user', 'user']);
    expect(sent[4]?.content).toEqual([
      { type: 'text', text: expect.stringContaining('tool results above') },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ]);
  });

  it('stand in their result on the other wires', () => {
    const asked = request(messages(), { model: 'claude-sonnet-5' });
    expect(toAnthropicMessages(asked)[2]?.content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'c1',
        content: [
          { type: 'text', text: '[a.png]' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
      { type: 'tool_result', tool_use_id: 'c2', content: 'text' },
      { type: 'text', text: 'next' },
    ]);
    const body = toResponsesBody(request(messages(), { model: 'gpt-5' }), { provider: 'x', cacheKey: false });
    expect((body.input as object[])[3]).toEqual({
      type: 'function_call_output',
      call_id: 'c1',
      output: [
        { type: 'input_text', text: '[a.png]' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
      ],
    });
  });

  it('become a note where the model takes none, or the configuration says so', () => {
    const noted = [
      chatBody('deepseek-v4-pro'),
      chatBody('gpt-4o', { images: false }),
      toAnthropicBody(request(messages(), { model: 'claude-sonnet-5' }), { images: false }),
      toResponsesBody(request(messages(), { model: 'gpt-3.5-turbo' }), { provider: 'x', cacheKey: false }),
      toOpenAIBody(request(messages(), { model: 'pixtral-12b' }), {
        dialect: dialectOf({ name: 'x', baseUrl: 'https://api.mistral.ai/v1' }),
      }),
    ].map((body) => JSON.stringify(body));
    for (const body of noted) {
      expect(body).toContain('1 image(s) left out');
      expect(body).not.toContain('AAAA');
    }
    expect(JSON.stringify(chatBody('unknown-model', { images: true }))).toContain('AAAA');
  });

  it('count as what they cost', () => {
    const tokensOf = (count: number) => estimateUsage(request(messages(count)), { text: '', toolCalls: [] }).input;
    expect(tokensOf(3) - tokensOf(1)).toBe(3_000);
  });
});

describe('thinking on the messages wire', () => {
  const thinking = (model: string, more: object, messages: Message[] = [user('x')]) => {
    const { thinking, output_config } = toAnthropicBody(request(messages, { model, ...more }));
    return { ...thinking, ...output_config };
  };

  it('takes a budget, an effort for it, or none', () => {
    expect(thinking('claude-sonnet-4-5', { thinking: 4_000 })).toEqual({ type: 'enabled', budget_tokens: 4_000 });
    expect(thinking('claude-sonnet-4-5', { thinking: 0, effort: 'high' })).toEqual({ type: 'disabled' });
    expect(thinking('claude-sonnet-4-5', { effort: 'none' })).toEqual({ type: 'disabled' });
    expect(thinking('claude-opus-5', { thinking: 16_000 })).toEqual({ type: 'adaptive', effort: 'high' });
    // Some models always think, and refuse to be told not to.
    expect(thinking('claude-opus-5-5', { effort: 'none' })).toEqual({ type: 'adaptive', effort: 'low' });
    expect(thinking('claude-3-5-haiku-latest', { thinking: 4_000 })).toEqual({});
  });

  it('is left out of a turn that another model began without: it would be refused', () => {
    const begun = (state: object = {}): Message[] => [
      user('x'),
      { ...assistant('', [['c1', 'grep']]), ...state },
      result('c1', 'grep', 'found'),
    ];
    const blocks = [{ type: 'thinking', thinking: 'hm', signature: 's' }, { type: 'tool_use' }];
    const state = { providerState: { wire: 'messages', blocks } };
    expect(thinking('claude-sonnet-4-5', { effort: 'low' }, begun())).toEqual({});
    expect(thinking('claude-sonnet-4-5', { effort: 'low' }, begun(state))).toMatchObject({ type: 'enabled' });
  });
});
