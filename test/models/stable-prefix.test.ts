import { describe, expect, it } from 'vitest';
import { toAnthropicBody } from '../../src/models/anthropic-body.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { dialectOf } from '../../src/models/dialects.ts';
import { toOpenAIBody } from '../../src/models/openai-body.ts';
import { toResponsesBody } from '../../src/models/responses-body.ts';
import { expectStablePrefix, prefixBreaks } from '../../src/models/stable-prefix.ts';
import { assistant, request, result, user } from './requests.ts';

const tools = [{ name: 'grep', description: 'Find.', parameters: { type: 'object' } }];
const all = [user('go'), assistant('a', [['c1', 'grep']]), result('c1', 'grep', 'found'), user('note', 'notice')];
const session = (more: Partial<ModelRequest> = {}): ModelRequest[] =>
  [1, 3, 4].map((count) => request(all.slice(0, count), { tools, system: 'You are.', ...more }));

const wires: [string, (request: ModelRequest) => unknown][] = [
  ['recorded requests', (each) => each],
  ['chat bodies', (each) => toOpenAIBody(each, { dialect: dialectOf({ name: 'openai' }) })],
  ['Responses bodies', (each) => toResponsesBody(each, { provider: 'x', cacheKey: true })],
  ['messages bodies', (each) => toAnthropicBody(each)],
];

describe.each(wires)('%s', (_, toWire) => {
  const why = (...requests: ModelRequest[]) => prefixBreaks(requests.map(toWire)).map((each) => each.why);

  it('of a session that only grows have a stable prefix', () => {
    expect(prefixBreaks(session().map(toWire))).toEqual([]);
  });

  it('tell which message broke it, and where', () => {
    const [first, , last] = session() as [ModelRequest, ModelRequest, ModelRequest];
    const edited = { ...last, messages: [user('gone'), ...last.messages.slice(1)] };
    expect(why(first, edited)).toEqual([
      expect.stringMatching(/^message 0 \(user\) differs at character \d+: .*became/),
    ]);
    expect(why(last, { ...last, messages: last.messages.slice(0, 1) })).toEqual([expect.stringContaining('is gone')]);
  });

  it('tell a system prompt, a tool or a model that changed', () => {
    const [first] = session() as [ModelRequest];
    expect(why(first, { ...first, system: 'You are not.' })).toEqual([
      expect.stringContaining('system prompt differs'),
    ]);
    expect(why(first, { ...first, model: 'other' })).toEqual(['the model was m and is other']);
    const [tool] = tools as [(typeof tools)[number]];
    expect(why(first, { ...first, tools: [{ ...tool, description: 'New.' }] })).toEqual([
      expect.stringContaining('the tool grep differs'),
    ]);
    expect(why(first, { ...first, tools: [tool, { ...tool, name: 'more' }] })).toEqual(['tool 1 was none and is more']);
  });
});

describe('expectStablePrefix', () => {
  it('keeps sessions apart', () => {
    const mixed = session().flatMap((each) => [each, { ...each, session: 's_other', system: 'Another.' }]);
    expect(() => expectStablePrefix(mixed)).not.toThrow();
  });

  it('fails with what broke, unless so many may', () => {
    const [first] = session() as [ModelRequest];
    const requests = [first, { ...first, system: 'x' }];
    expect(() => expectStablePrefix(requests)).toThrow(
      /^1 request does not begin with the one before:\n {2}request 1 of session s_0000test: the system prompt differs/,
    );
    expect(() => expectStablePrefix(requests, { allowed: 1 })).not.toThrow();
  });
});
