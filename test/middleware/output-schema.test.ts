import { describe, expect, it } from 'vitest';
import { resultJson } from '../../src/cli/run/view.ts';
import type { StoredEvent } from '../../src/core/events.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { call, referencesIn, workshop } from '../runtime/workshop.ts';

const SCHEMA = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
  additionalProperties: false,
};
const header = { runAs: 'subagent', 'output-schema': JSON.stringify(SCHEMA) };
const nudges = (events: readonly StoredEvent[]) =>
  events.filter((event) => event.type === 'user.message' && event.origin === 'nudge');
const lastText = ({ messages }: ModelRequest) => (messages.at(-1) as { content: string }).content;

describe('a skill with an output-schema', () => {
  it('is told the schema; its answer is the JSON, exactly the value and without what stands around it', async () => {
    const shop = workshop();
    shop.skill('count', header, 'You count.');
    const { runtime, model } = await shop.open(
      () => 'Here you are [1]:\n```json\n{ "n": 12345678901234567890 }\n```\n',
    );
    const run = await runtime.skill('count').run('all');
    expect(run).toMatchObject({
      status: 'completed',
      answer: '{"n":12345678901234567890}',
      output: { n: 1.2345678901234567e19 },
    });
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.system).toContain(JSON.stringify(SCHEMA));
    expect(resultJson(run.result)).toMatchObject({ answer: run.answer, output: run.output });
  });

  it('repairs once, with the faults and the schema; the parent gets the JSON', async () => {
    const shop = workshop();
    shop.skill('count', header, 'You count.');
    const { runtime, model } = await shop.open((request) => {
      if (request.skill) return request.messages.length === 1 ? '{"n":"two","m":1}' : '{"n": 2}';
      return request.messages.at(-1)?.role === 'tool'
        ? lastText(request)
        : { calls: [call('run_skill', { name: 'count', arguments: 'x' })] };
    });
    const run = await (await runtime.session()).send('go').result;
    expect(run.answer).toMatch(/Status: completed\n[\s\S]*\n\n\{"n":2\}$/);
    expect(run.output).toBeUndefined();
    const repair = model.requests.find((request) => request.skill && request.messages.length === 3);
    expect(lastText(repair as ModelRequest)).toContain('/n must be integer');
    expect(lastText(repair as ModelRequest)).toContain('must NOT have additional properties: "m"');
    expect(lastText(repair as ModelRequest)).toContain(JSON.stringify(SCHEMA));
  });

  it('fails after one repair, with its text and the faults; a continuation is checked again', async () => {
    const shop = workshop();
    shop.skill('count', header, 'You count.');
    const { runtime } = await shop.open((request) => (lastText(request) === 'now' ? '{"n":3}' : 'about two'));
    const run = await runtime.skill('count').run('x');
    expect(run).toMatchObject({ status: 'failed', answer: 'about two', output: undefined });
    expect(run.result.error).toContain('it holds no JSON value');
    expect(nudges(await runtime.store.read(run.ref))).toMatchObject([{ about: 'output-schema' }]);
    expect(await run.continue('still wrong')).toMatchObject({ status: 'failed' });
    expect(nudges(await runtime.store.read(run.ref))).toHaveLength(2);
    expect(await run.continue('now')).toMatchObject({ status: 'completed', output: { n: 3 }, ref: run.ref });
  });

  it('at a limit the answer is checked and not repaired', async () => {
    const shop = workshop();
    shop.skill('count', { ...header, 'max-steps': 1 }, 'You count.');
    let last = '{ "n": 1 }';
    const { runtime, model } = await shop.open(({ toolChoice }) =>
      toolChoice === 'none' ? last : { calls: [call('list_files', {})] },
    );
    expect(await runtime.skill('count').run('x')).toMatchObject({
      status: 'limit',
      answer: '{"n":1}',
      output: { n: 1 },
    });
    last = 'ran out';
    const before = model.requests.length;
    expect(await runtime.skill('count').run('x')).toMatchObject({
      status: 'limit',
      answer: 'ran out',
      output: undefined,
    });
    expect(model.requests.length - before).toBe(2);
  });

  it('is not asked twice by a process that goes on after a crash: the log knows', async () => {
    const shop = workshop();
    shop.skill('count', header, 'You count.');
    const first = await shop.open(() => 'nothing');
    const { ref } = await first.runtime.skill('count').run('x');
    const events = await first.runtime.store.read(ref);
    const repaired = events.findIndex((event) => event.type === 'user.message' && event.origin === 'nudge');
    // The log as a crash right after the repair message leaves it.
    const { memoryStore } = await import('../../src/store/memory.ts');
    const store = memoryStore();
    await store.append(
      ref,
      0,
      events.slice(0, repaired + 1).map(({ seq: _seq, at: _at, ...event }) => event),
    );
    const second = await shop.open(() => 'nothing still', { store });
    const session = await second.runtime.session({ resume: ref });
    expect(await session.resume().result).toMatchObject({ status: 'failed', answer: 'nothing still' });
    expect(nudges(await store.read(ref))).toHaveLength(1);
  });

  it('does not start with a schema that cannot be used, and says why', async () => {
    const shop = workshop();
    shop.skill('count', { runAs: 'subagent', 'output-schema': '{"type":"strin"}' }, 'You count.');
    const { runtime, model } = await shop.open((request) =>
      request.messages.at(-1)?.role === 'tool'
        ? lastText(request)
        : { calls: [call('run_skill', { name: 'count', arguments: 'x' })] },
    );
    const run = await (await runtime.session()).send('go').result;
    expect(run.answer).toContain('the output-schema cannot be used: schema is invalid');
    expect(run.subagents).toEqual([]);
    expect(referencesIn(model.requests.at(-1)?.messages ?? [])).toEqual([]);
    await expect(runtime.skill('count').run('x')).rejects.toMatchObject({ code: 'skill_refused' });
  });
});
