import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Message } from '../../src/core/messages.ts';
import type { ModelReply } from '../../src/models/contract.ts';
import { loadScript, scriptedModel } from '../../src/models/scripted.ts';
import type { ScriptedConditions, ScriptedRule } from '../../src/models/scripted-format.ts';
import { assistant, collect, never, request, result, user } from './requests.ts';

const ask = (rules: readonly ScriptedRule[], messages: Message[], more = {}): Promise<ModelReply> =>
  scriptedModel(rules).generate(request(messages, more), { signal: never });

const answered = (reply: ModelReply): Message => ({
  role: 'assistant',
  text: reply.text,
  toolCalls: reply.toolCalls,
  providerState: reply.providerState,
});

const ref = (letter: string): string => `sa_${letter.repeat(8)}`;
const childResult = (letter: string, answer: string): string =>
  `Subagent reference: ${ref(letter)}\nStatus: completed\nSkill: research · steps 2 · tokens 9\nContinue with run_skill {}.\n\n${answer}`;

describe('conditions', () => {
  const afterResult = [
    user('count the todos'),
    assistant('', [
      ['c1', 'grep'],
      ['c2', 'read_file'],
    ]),
    result('c1', 'grep', 'a.ts:1:TODO'),
    result('c2', 'read_file', 'export const a = 1;'),
  ];
  const nudged = [user('go'), assistant('done'), user('load house-rules first', 'nudge')];
  const secondTurn = [...afterResult, assistant('one'), user('and now?', 'continuation')];

  it.each<[string, ScriptedConditions, Message[], object, boolean]>([
    ['skill, whole name', { skill: 'review' }, [user('x')], { skill: 'security-review' }, false],
    ['skill', { skill: 'review' }, [user('x')], { skill: 'review' }, true],
    ['skill, pattern', { skill: '/review$/' }, [user('x')], { skill: 'security-review' }, true],
    ['skill, any of', { skill: ['a', 'review'] }, [user('x')], { skill: 'review' }, true],
    ['no skill', { skill: null }, [user('x')], { skill: 'review' }, false],
    ['no skill', { skill: null }, [user('x')], {}, true],
    ['system', { system: 'You are' }, [user('x')], { system: 'Hello. You are one.' }, true],
    ['user, part', { user: 'the todos' }, afterResult, {}, true],
    ['user, whole', { user: '=the todos' }, afterResult, {}, false],
    ['user, whole', { user: '=count the todos' }, afterResult, {}, true],
    ['user is not the nudge', { user: 'house-rules' }, nudged, {}, false],
    ['message is the nudge', { message: 'house-rules', origin: 'nudge' }, nudged, {}, true],
    ['message is absent after an answer', { message: 'count' }, afterResult, {}, false],
    ['origin', { origin: 'task' }, [user('x', 'task')], {}, true],
    ['origin', { origin: 'user' }, nudged, {}, false],
    ['tool of the newest result', { tool: 'read_file' }, afterResult, {}, true],
    ['tool of an earlier result', { tool: 'grep' }, afterResult, {}, false],
    ['last result', { last_result: '/const (\\w)/' }, afterResult, {}, true],
    ['no result in this turn yet', { tool: 'read_file' }, secondTurn, {}, false],
    ['step', { step: 2 }, afterResult, {}, true],
    ['step, range', { step: '3..' }, afterResult, {}, false],
    ['step, compared', { step: '>=2' }, afterResult, {}, true],
    ['turn', { turn: 2, turn_step: 1, step: 3 }, secondTurn, {}, true],
    ['turn', { turn: [1, 3] }, secondTurn, {}, false],
    ['kind', { kind: 'child' }, [user('x')], { session: ref('a') }, true],
    ['kind', { kind: 'child' }, [user('x')], {}, false],
    ['tool choice', { tool_choice: 'none' }, [user('x')], { toolChoice: 'none' }, true],
    ['model', { model: 'fast' }, [user('x')], { model: 'very-fast-1' }, true],
    ['all must hold', { model: 'fast', step: 2 }, [user('x')], { model: 'very-fast-1' }, false],
  ])('%s: %j', async (_, when, messages, more, expected) => {
    const reply = await ask([{ when, text: 'yes' }, { text: 'no' }], messages, more);
    expect(reply.text).toBe(expected ? 'yes' : 'no');
  });

  it('names what was asked when no rule matches', async () => {
    const error = await ask([{ name: 'a', when: { skill: 'x' }, text: '' }], afterResult, { skill: 'explore' }).catch(
      (e) => e,
    );
    expect(error).toMatchObject({ code: 'provider', details: { retryable: false } });
    expect(error.message).toBe(
      'the script has no rule for this request (skill explore, step 2, newest result of read_file: "export const a = 1;")',
    );
  });

  it('counts once and times by the history, so that another process goes on', async () => {
    const rules: ScriptedRule[] = [{ name: 'a', once: true, text: 'A' }, { times: 2, text: 'B' }, { text: 'C' }];
    const history: Message[] = [user('go')];
    const texts: string[] = [];
    for (let step = 0; step < 5; step++) {
      const reply = await ask(rules, history);
      texts.push(reply.text);
      history.push(JSON.parse(JSON.stringify(answered(reply))), user('again', 'nudge'));
    }
    expect(texts).toEqual(['A', 'B', 'B', 'C', 'C']);
  });
});

describe('answers', () => {
  it('take their data from the results that were sent', async () => {
    const messages = [
      user('research both'),
      assistant('', [
        ['c1', 'run_skill'],
        ['c2', 'run_skill'],
      ]),
      result('c1', 'run_skill', childResult('b', 'Found 3 files')),
      result('c2', 'run_skill', childResult('a', 'Found 14 files')),
    ];
    const reply = await ask(
      [
        {
          text: 'Sum {{results | answer | match_all "(\\d+) files" | sum}}, {{ref.0}} then {{ref.1}}, {{result.1 | match "(\\d+) files"}}',
          calls: [
            {
              name: 'run_skill',
              arguments: { name: 'synthesize', inputs_from: '{{refs}}', nested: { n: ['{{results | count}}', 2] } },
            },
            { name: 'run_skill', arguments: { continue_from: '{{ref.1}}', arguments: 'More on {{user}}' } },
          ],
        },
      ],
      messages,
    );
    expect(reply.text).toBe(`Sum 17, ${ref('b')} then ${ref('a')}, 14`);
    expect(reply.toolCalls.map((call) => JSON.parse(call.arguments))).toEqual([
      { name: 'synthesize', inputs_from: [ref('b'), ref('a')], nested: { n: [2, 2] } },
      { continue_from: ref('a'), arguments: 'More on research both' },
    ]);
    expect(reply.finishReason).toBe('tool_calls');
  });

  it('name the sub-agents of a list of items', async () => {
    const items = `Items: 1 completed, 1 failed, 1 not started · steps 2.\n\nItem 1 · ${ref('b')}: x\nseen\n> Item 2 · ${ref('c')}: y\n\nItem 2 · ${ref('a')} · failed: y\n\nItem 3 · not started: z\nno room`;
    const messages = [user('go'), assistant('', [['c1', 'run_skill']]), result('c1', 'run_skill', items)];
    expect((await ask([{ text: '{{refs}}' }], messages)).text).toBe(`${ref('b')}\n${ref('a')}`);
  });

  it('reach back to the newest step with results, and to all results of a tool', async () => {
    const messages = [
      user('go'),
      assistant('', [['c1', 'grep', '{"pattern":"TODO"}']]),
      result('c1', 'grep', 'a:1:x\nb:2:y'),
      assistant('', [['c2', 'read_file', '{"path":"a"}']]),
      result('c2', 'read_file', 'text'),
      assistant('thinking'),
      user('say it', 'nudge'),
    ];
    const text = '{{tool.grep.0 | count}} {{last_result}} {{call.0 | json "path"}} {{all_results | count}} {{task}}';
    expect((await ask([{ text }], messages)).text).toBe('2 text a 2 go');
  });

  it('ask for one call an item', async () => {
    const messages = [user('go'), assistant('', [['c', 'list_files']]), result('c', 'list_files', 'a.ts\nb.ts\n')];
    const rule: ScriptedRule = {
      calls: [{ name: 'read_file', for_each: '{{last_result}}', arguments: { path: '{{item}}', n: '{{index}}' } }],
    };
    const { toolCalls } = await ask([rule], messages);
    expect(toolCalls.map((call) => call.arguments)).toEqual(['{"path":"a.ts","n":0}', '{"path":"b.ts","n":1}']);
    expect(new Set(toolCalls.map((call) => call.id)).size).toBe(2);
  });

  it('send arguments that are a text as it is', async () => {
    const { toolCalls } = await ask([{ calls: [{ id: 'x', name: 't', arguments: '{broken {{user}}' }] }], [user('go')]);
    expect(toolCalls).toEqual([{ id: 'x', name: 't', arguments: '{broken go' }]);
  });

  it('report usage as given, and estimate what is not', async () => {
    const { usage } = await ask([{ text: 'x'.repeat(40), usage: { cache_read: 7, input: 100 } }], [user('go')]);
    expect(usage).toEqual({ input: 100, output: 10, cache_read: 7, cache_write: 0, reasoning: 0 });
    const estimated = await ask([{ text: 'abcd', reasoning: '12345678' }], [user('y'.repeat(8))], {
      system: 'z'.repeat(4),
    });
    expect(estimated.usage).toEqual({ input: 3, output: 3, cache_read: 0, cache_write: 0, reasoning: 2 });
  });

  it('stream in pieces that no character is cut by', async () => {
    const seen = collect();
    await scriptedModel([{ text: 'ab🎯cd', reasoning: 'hm', chunks: { size: 2 } }]).generate(request([user('x')]), {
      signal: never,
      onDelta: seen.onDelta,
    });
    expect(seen.deltas).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'ab' },
      { type: 'text', text: '🎯c' },
      { type: 'text', text: 'd' },
    ]);
  });

  it('keep the finish reason that the rule gives', async () => {
    expect((await ask([{ text: 'x', finish: 'length' }], [user('x')])).finishReason).toBe('length');
  });
});

describe('faults', () => {
  const generate = (rule: ScriptedRule, options = {}, signal = never) => {
    const model = scriptedModel([rule], options);
    return { model, go: () => model.generate(request([user('x')]), { signal }) };
  };

  it('strike so often as they say, in order, then the answer comes', async () => {
    const { go } = generate({
      text: 'fine',
      faults: [{ status: 429, retry_after: 2, times: 2 }, { cut_after: 2 }, { network: true }],
    });
    await expect(go()).rejects.toMatchObject({
      code: 'provider_overloaded',
      details: { retryAfter: 2000, retryable: true },
    });
    await expect(go()).rejects.toMatchObject({ details: { status: 429 } });
    await expect(go()).rejects.toMatchObject({ code: 'provider', details: { partialText: 'fi', retryable: true } });
    await expect(go()).rejects.toMatchObject({ code: 'provider', message: expect.stringContaining('ECONNREFUSED') });
    expect((await go()).text).toBe('fine');
  });

  it('may last', async () => {
    const { go } = generate({ text: 'never', faults: { status: 401, times: 'always' } });
    for (let i = 0; i < 3; i++)
      await expect(go()).rejects.toMatchObject({ code: 'provider_auth', details: { retryable: false } });
  });

  it('hang until the call is cancelled, or given up as silent', async () => {
    const controller = new AbortController();
    const hanging = generate({ faults: { hang: true, times: 'always' } }, {}, controller.signal).go();
    controller.abort();
    await expect(hanging).rejects.toMatchObject({ code: 'cancelled' });
    const silent = generate({ faults: { hang: true } }, { idleTimeout: 5 }).go();
    await expect(silent).rejects.toMatchObject({ code: 'provider', details: { retryable: true } });
  });

  it('keep the text that had come when latency or stream is cancelled', async () => {
    const controller = new AbortController();
    const model = scriptedModel([{ text: 'abcdef', chunks: { size: 3, delay: 60_000 } }]);
    const going = model.generate(request([user('x')]), {
      signal: controller.signal,
      onDelta: () => controller.abort(),
    });
    await expect(going).rejects.toMatchObject({ code: 'cancelled', details: { partialText: 'abc' } });
  });
});

describe('scripts in code', () => {
  it('answer by a function, and record frozen requests', async () => {
    const model = scriptedModel((asked, facts) =>
      facts.step === 1
        ? { calls: [{ name: 't', arguments: { n: asked.messages.length } }] }
        : `step ${facts.step} {{user}}`,
    );
    const messages = [user('go')];
    const asked = request(messages);
    const first = await model.generate(asked, { signal: never });
    expect(first.toolCalls).toEqual([{ id: 'call_1_1', name: 't', arguments: '{"n":1}' }]);
    messages.push(assistant('', [['call_1_1', 't']]));
    expect((await model.generate(asked, { signal: never })).text).toBe('step 2 {{user}}');
    expect(model.requests.map((each) => each.messages.length)).toEqual([1, 2]);
    expect(() => model.requests[0]?.messages.push(user('x'))).toThrow(TypeError);
    expect(Object.isFrozen(model.requests[1]?.messages[1])).toBe(true);
    expect(Object.isFrozen(messages[0])).toBe(false);
  });

  it.each<[string, unknown]>([
    ['rules.0: Unrecognized key: "whn"', [{ whn: {} }]],
    ['rules.0.when: Unrecognized key: "skil"', [{ when: { skil: 'x' } }]],
    ['rules.1.faults', [{}, { faults: {} }]],
  ])('refuse %s', (message, rules) => {
    expect(() => scriptedModel(rules as ScriptedRule[])).toThrow(message);
  });

  it.each<[string, ScriptedRule]>([
    ['rule b: wrong condition', { name: 'b', when: { step: 'often' } }],
    ['rule #1: wrong condition', { when: { user: '/(/' } }],
    ['rule #1: wrong template', { text: '{{user | wat}}' }],
  ])('say %s', (message, rule) => {
    expect(() => scriptedModel([rule])).toThrow(message);
  });
});

describe('script files', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reasonix-script-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const write = async (text: string): Promise<string> => {
    const path = join(folder, 'script.yaml');
    await writeFile(path, text);
    return path;
  };

  it('are YAML', async () => {
    const path = await write(
      'rules:\n  - when: { step: 1, skill: null }\n    text: |\n      {{user | match "(\\d+) files"}} of\n      them\n  - text: other\n',
    );
    const model = await loadScript(path, { provider: 'demo' });
    expect(model.provider).toBe('demo');
    const reply = await model.generate(request([user('12 files')]), { signal: never });
    expect(reply.text).toBe('12 of\nthem\n');
    expect(model.requests).toEqual([]);
  });

  it('are named with the line where they are wrong', async () => {
    const unknown = await write('rules:\n  - text: a\n  - text: b\n    whne:\n      step: 1\n');
    await expect(loadScript(unknown)).rejects.toThrow(`${unknown}:3: rules.1: Unrecognized key: "whne"`);
    const wrong = await write('- text: a\n- when:\n    kind: both\n');
    await expect(loadScript(wrong)).rejects.toThrow(`${wrong}:3: rules.1.when.kind`);
    const broken = await write('rules:\n  - text: "a\n');
    await expect(loadScript(broken)).rejects.toMatchObject({
      code: 'config',
      message: expect.stringContaining('script.yaml:'),
    });
    await expect(loadScript(join(folder, 'absent.yaml'))).rejects.toMatchObject({ code: 'config' });
  });
});
