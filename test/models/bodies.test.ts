import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/messages.ts';
import { toAnthropicBody, toAnthropicMessages } from '../../src/models/anthropic-body.ts';
import { dialectOf } from '../../src/models/dialects.ts';
import { toOpenAIBody } from '../../src/models/openai-body.ts';
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
    expect(toAnthropicMessages(request([user('x'), summedUp]))[1]?.content).toHaveLength(3);
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
