import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { ScriptedReply } from '../../src/models/scripted-format.ts';
import { call, workshop } from '../runtime/workshop.ts';

const lastText = ({ messages }: ModelRequest) => (messages.at(-1) as { content: string }).content;

/** What a child whose model gives these replies in turn comes back with. */
async function childOf(replies: (ScriptedReply | string)[]) {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const { runtime, model } = await shop.open((request) => {
    if (!request.skill) {
      const result = request.messages.at(-1)?.role === 'tool' ? lastText(request) : undefined;
      return result ?? { calls: [call('run_skill', { name: 'dig', arguments: 'x' })] };
    }
    const step = request.messages.filter(({ role }) => role === 'assistant').length;
    return replies[Math.min(step, replies.length - 1)] ?? '';
  });
  const run = await (await runtime.session()).send('go').result;
  const requests = model.requests.filter(({ skill }) => skill === 'dig');
  return { result: run.answer, steps: requests.length, requests };
}

const list: ScriptedReply = { calls: [call('list_files', {})] };

describe('the answer of a child', () => {
  it('F13a: is the text that came after an empty message', async () => {
    const { result, steps } = await childOf(['', 'Summary']);
    expect(result).toMatch(/Status: completed\n[\s\S]*\n\nSummary$/);
    expect(steps).toBe(2);
  });

  it('F13b: is the earlier text when nothing follows a tool call', async () => {
    const { result } = await childOf([{ ...list, text: 'Findings' }, '']);
    expect(result).toMatch(/Status: completed\n[\s\S]*\n\nFindings$/);
  });

  it.each([
    ['F13c: white space', ' \n\t'],
    ['F13d: reasoning', { reasoning: 'I think that it is gold.' }],
  ] as [string, ScriptedReply | string][])('%s alone is asked about once, then it is no answer', async (_, reply) => {
    const { result, steps } = await childOf([reply]);
    expect(result).toMatch(/Status: failed\n[\s\S]*no visible answer/);
    expect(steps).toBe(2);
  });

  it('is the text after the last tool call, not what was said on the way', async () => {
    const { result } = await childOf([{ ...list, text: 'Let me look.' }, 'Gold.']);
    expect(result).toMatch(/\n\nGold\.$/);
    expect(result).not.toContain('Let me look');
  });

  it('is asked for in full, once, when it only points to an earlier message', async () => {
    const whole = await childOf([
      { ...list, text: 'There is gold in files/a.' },
      'See my report above.',
      'Gold, in files/a.',
    ]);
    expect(whole.result).toMatch(/\n\nGold, in files\/a\.$/);
    expect(lastText(whole.requests[2] as ModelRequest)).toContain('in full');
    const stubborn = await childOf(['As I said above.']);
    expect(stubborn).toMatchObject({ steps: 2 });
    expect(stubborn.result).toMatch(/Status: completed\n[\s\S]*\n\nAs I said above\.$/);
  });

  it('is not asked of a root: people see the whole thread', async () => {
    const { runtime, model } = await workshop().open(() => 'As I said above.');
    await (await runtime.session()).send('go').result;
    expect(model.requests).toHaveLength(1);
  });

  it('keeps what a child had that failed', async () => {
    const { result } = await childOf([{ ...list, text: 'Half of it.' }, { faults: { status: 400, times: 'always' } }]);
    expect(result).toMatch(/Status: failed\n[\s\S]*It ended early: [\s\S]*\n\nHalf of it\.$/);
  });
});

describe('answers as inputs', () => {
  it('come from every child whose turn has ended, whatever the end was', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent', 'max-steps': 2 }, 'You dig.');
    shop.skill('join', { runAs: 'subagent' }, 'You join.');
    const stop = new AbortController();
    const { runtime, model } = await shop.open((request): ScriptedReply | string => {
      if (request.skill === 'join') return 'joined';
      const [task] = request.messages as { content: string }[];
      const step = request.messages.filter(({ role }) => role === 'assistant').length;
      if (task?.content === 'completed') return 'all of it';
      if (task?.content === 'limit') return request.toolChoice === 'none' ? 'summed up' : list;
      if (step === 0) return { ...list, text: `part of ${task?.content}` };
      if (task?.content === 'cancelled') stop.abort();
      return { faults: { status: 400, times: 'always' } };
    });
    const session = await runtime.session();
    const refs: string[] = [];
    for (const task of ['completed', 'limit', 'failed', 'cancelled']) {
      const run = await session.runSkill({ name: 'dig', arguments: task }, { signal: stop.signal }).result;
      expect(run.subagents[0]?.status.replace(/:.*/, '')).toBe(task);
      refs.push(run.subagents[0]?.ref ?? '');
    }
    await session.runSkill({ name: 'join', arguments: 'all', inputs_from: refs }).result;
    const task = lastText(model.requests.at(-1) as ModelRequest);
    const answers = ['all of it', 'summed up', 'part of failed', 'part of cancelled'];
    for (const [index, answer] of answers.entries()) {
      expect(task).toMatch(new RegExp(`<input from="${refs[index]}" [^>]*>\\n${answer}\\n</input>`));
    }
  });

  it('are bounded, each and together; the new child reads on by the reference', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    shop.skill('join', { runAs: 'subagent' }, 'You join.');
    const { runtime, model } = await shop.open((request) => {
      if (request.skill === 'dig') return `${lastText(request)} ${'é'.repeat(50_000)} end`;
      const read = /read on with read_result (\{"reference":"sa_\w+","offset":\d+\})/.exec(lastText(request))?.[1];
      if (request.messages.length > 1) return `read: ${lastText(request).length}`;
      const [, , offset = ''] = /("offset":)(\d+)/.exec(read ?? '') ?? [];
      return { calls: [{ name: 'read_result', arguments: read?.replace(`:${offset}}`, ':49990}') ?? '' }] };
    });
    const session = await runtime.session();
    const run = (name: string, task: string, inputs_from?: string[]) =>
      session.runSkill({ name, arguments: task, inputs_from }).result;
    const taskOfJoin = (): string => {
      const [first] = model.requests.findLast(({ skill }) => skill === 'join')?.messages ?? [];
      return first?.role === 'user' ? first.content : '';
    };
    const refs: string[] = [];
    for (const task of 'abcdef') refs.push((await run('dig', task)).subagents[0]?.ref ?? '');

    await run('join', 'one', refs.slice(0, 1));
    const bytes = Buffer.byteLength(taskOfJoin());
    expect(bytes).toBeGreaterThan(63 * 1024);
    expect(bytes).toBeLessThan(65 * 1024);
    expect(lastText(model.requests.at(-1) as ModelRequest)).toMatch(/^é+ end$/);

    await run('join', 'all', refs);
    expect(Buffer.byteLength(taskOfJoin())).toBeLessThan(258 * 1024);
    expect(taskOfJoin().match(/read on with read_result/g)).toHaveLength(6);
  });

  it('are not read by a session of another tree', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const { runtime, model } = await shop.open((request) => {
      if (request.skill) return 'gold';
      if (request.messages.at(-1)?.role === 'tool') return lastText(request);
      return { calls: [call('read_result', { reference: lastText(request) })] };
    });
    const session = await runtime.session();
    const { subagents } = await session.runSkill({ name: 'dig', arguments: 'x' }).result;
    const ref = subagents[0]?.ref ?? '';
    expect((await session.send(ref).result).answer).toBe('gold');
    expect((await (await runtime.session()).send(ref).result).answer).toContain('There is no result');
    expect(model.requests.length).toBeGreaterThan(3);
  });
});
