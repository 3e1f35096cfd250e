import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ReasonixError } from '../../src/core/errors.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { Machine } from '../faults/machine.ts';
import { call, referencesIn, workshop } from '../runtime/workshop.ts';

const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message] : []));
const broken = () => new ReasonixError('provider', 'the model is broken', { details: { retryable: false } });
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effects: 'read',
  execute: async () => 'seen',
});
const dig = (input: Record<string, unknown>) => call('run_skill', { name: 'dig', ...input });

/** A project with one sub-agent, and a root that makes these calls, a step each, then answers with the last result. */
async function digging(
  steps: (references: string[]) => ReturnType<typeof call>[][],
  child: (request: ModelRequest) => unknown,
  options: { header?: Record<string, unknown>; overrides?: string[]; tools?: (typeof look)[] } = {},
) {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent', ...options.header }, 'You dig.');
  const opened = await shop.open(
    (request) => {
      if (request.skill) return child(request) as string;
      const done = request.messages.filter(({ role }) => role === 'assistant').length;
      const calls = steps(referencesIn(request.messages))[done];
      return calls ? { calls } : (results(request).at(-1)?.content ?? '');
    },
    { tools: options.tools ?? [look], overrides: options.overrides },
  );
  return { ...opened, session: await opened.runtime.session() };
}

it('F03: a child that uses tools is sent its whole thread each time it is continued', async () => {
  const { model, session } = await digging(
    ([first]) => [
      [dig({ arguments: 'one' })],
      [dig({ arguments: 'two', continue_from: first })],
      [dig({ arguments: 'three', continue_from: first })],
    ],
    ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'dug' : { calls: [call('look', {})] }),
  );
  await session.send('go').result;
  const last = model.requests.findLast(({ skill }) => skill === 'dig');
  const shape = last?.messages.map((message) => (message.role === 'user' ? message.content : message.role));
  const turn = ['assistant', 'tool', 'assistant'];
  expect(shape).toEqual(['one', ...turn, 'two', ...turn, 'three', 'assistant', 'tool']);
  const calls = last?.messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : [])) ?? [];
  expect(last && results(last).map(({ callId }) => callId)).toEqual(calls.map(({ id }) => id));
});

describe('F06: a child that fails after two steps', () => {
  it('keeps both, says so, and can be continued', async () => {
    const { runtime, session } = await digging(
      ([first]) => [[dig({ arguments: 'one' })], [dig({ arguments: 'go on', continue_from: first })]],
      ({ messages }) => {
        const steps = messages.filter(({ role }) => role === 'assistant').length;
        if (messages.some((message) => message.role === 'user' && message.content === 'go on')) {
          return `dug after ${steps} steps`;
        }
        if (steps === 2) throw broken();
        return { text: `step ${steps + 1}`, calls: [call('look', {})] };
      },
    );
    const run = await session.send('go').result;
    expect(run.answer).toMatch(/Status: completed[\s\S]*dug after 2 steps$/);
    const first = (await runtime.store.read(session.id)).find((event) => event.type === 'tool.result');
    expect(first).toMatchObject({ isError: true, content: expect.stringMatching(/Status: failed[\s\S]*broken/) });
    // What it said before it failed is its answer so far.
    expect(first).toMatchObject({ content: expect.stringMatching(/step 2$/) });
    const ends = (await runtime.store.read(run.subagents[0]?.ref ?? '')).filter((event) => event.type === 'turn.ended');
    expect(ends.map(({ status }) => status)).toEqual(['failed', 'completed']);
  });

  it('is refused to another tree, with the reason', async () => {
    const { runtime, session } = await digging(
      () => [[dig({ arguments: 'one' })]],
      () => {
        throw broken();
      },
    );
    const [child] = (await session.send('go').result).subagents;
    const before = await runtime.store.read(child?.ref ?? '');
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
    const other = await shop.open(
      (request) =>
        results(request)[0]?.content ?? { calls: [dig({ arguments: 'mine now', continue_from: child?.ref })] },
      { store: runtime.store },
    );
    expect((await (await other.runtime.session()).send('go').result).answer).toContain(child?.ref);
    expect(await runtime.store.read(child?.ref ?? '')).toEqual(before);
  });
});

describe('F12: a child that says nothing any more', () => {
  it.each([
    ['its model', 'model'],
    ['a tool', 'tool'],
  ])('because of %s ends at its time limit with what it has, and can be continued', async (_, what) => {
    const stuck = defineTool({
      name: 'look',
      description: 'Looks.',
      input: z.object({}),
      effects: 'read',
      execute: (_input, { signal }) => delay(60_000, 'late', { signal }),
    });
    const { session } = await digging(
      () => [[dig({ arguments: 'one' })]],
      ({ messages, toolChoice }) => {
        if (toolChoice === 'none') return '';
        if (messages.length === 1)
          return { text: 'found half', calls: [call(what === 'tool' ? 'look' : 'read_result', {})] };
        return { text: '', faults: { hang: true, times: 'always' } };
      },
      { header: { timeout: '300ms' }, tools: [stuck] },
    );
    const begun = performance.now();
    const run = await session.send('go').result;
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(run.answer).toMatch(/Status: limit:time[\s\S]*continue_from[\s\S]*found half$/);
  });
});

it('F15: a child at its limit of steps gives what it has, and its reference goes on', async () => {
  const { runtime, session } = await digging(
    ([first]) => [[dig({ arguments: 'one' })], [dig({ arguments: 'two', continue_from: first })]],
    ({ messages, toolChoice }) => {
      if (toolChoice === 'none') return '';
      if (messages.some((message) => message.role === 'user' && message.content === 'two')) return 'dug on';
      const steps = messages.filter(({ role }) => role === 'assistant').length;
      return { text: steps === 1 ? 'found half' : '', calls: [call('look', {})] };
    },
    { header: { 'max-steps': 3 } },
  );
  expect((await session.send('go').result).answer).toMatch(/Status: completed[\s\S]*dug on$/);
  const first = (await runtime.store.read(session.id)).find((event) => event.type === 'tool.result');
  expect(first).toMatchObject({
    isError: false,
    content: expect.stringMatching(/Status: limit:steps[\s\S]*found half$/),
  });
});

it('F20: of three children at once the second fails at once; the others arrive, in the order of the calls', async () => {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const { runtime, model } = await shop.open(async (request) => {
    if (!request.skill) {
      return results(request).length > 0
        ? 'done'
        : { calls: ['one', 'two', 'three'].map((task) => dig({ arguments: task })) };
    }
    const [first] = request.messages;
    const task = first?.role === 'user' ? first.content : '';
    if (task === 'two') throw broken();
    return { text: `dug ${task}`, latency: task === 'one' ? 40 : 20 };
  });
  await (await runtime.session()).send('go').result;
  const [one, two, three] = results(model.requests.at(-1) as ModelRequest);
  expect([one?.isError, two?.isError, three?.isError]).toEqual([false, true, false]);
  expect(one?.content).toMatch(/dug one$/);
  expect(two?.content).toMatch(/Status: failed[\s\S]*the model is broken/);
  expect(three?.content).toMatch(/dug three$/);
});

it('F21: only the answers of two children that end in one tick cross over; their skills and reads stay with them', async () => {
  const shop = workshop();
  shop.write('shared.txt', 'shared');
  shop.skill('tips', {}, 'Tips for children.');
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  let waiting = 0;
  let meet = () => {};
  const together = new Promise<void>((resolve) => {
    meet = resolve;
  });
  const { runtime, model } = await shop.open(async (request) => {
    if (!request.skill) {
      return results(request).length > 0 ? 'done' : { calls: ['one', 'two'].map((task) => dig({ arguments: task })) };
    }
    if (results(request).length === 0) {
      return { calls: [call('read_file', { path: 'shared.txt' }), call('run_skill', { name: 'tips' })] };
    }
    if (++waiting === 2) meet();
    await together;
    return 'dug';
  });
  const session = await runtime.session();
  expect((await session.send('go').result).answer).toBe('done');
  const events = await runtime.store.read(session.id);
  const loaded = events.flatMap((event) => (event.type === 'skill.loaded' ? [event.name] : []));
  expect(loaded).toEqual(['dig', 'dig']);
  const last = JSON.stringify(model.requests.at(-1)?.messages);
  expect(last).not.toContain('Tips for children');
  expect(last).not.toContain('shared.txt');
});

it('F28: a child has a tool of the program, and is told of one that does not exist', async () => {
  const { model, session } = await digging(
    () => [[dig({ arguments: 'one' })]],
    () => 'dug',
    { header: { 'allowed-tools': 'read_file, look, no_such_tool' } },
  );
  await session.send('go').result;
  const child = model.requests.find(({ skill }) => skill === 'dig');
  expect(child?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['read_file', 'look']));
  expect(child?.tools.map(({ name }) => name)).not.toContain('no_such_tool');
  expect(child?.system).toContain('no_such_tool');
});

it('F37: a parent whose process died while its child ran gets that child’s answer, not a guess', async () => {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const store = memoryStore();
  const life = async (dieAt?: number) => {
    const machine = new Machine({ store, dieAt });
    const client = scriptedModel(
      (request) => {
        if (request.skill) return results(request).length > 0 ? 'dug' : { calls: [call('look', {})] };
        return results(request)[0]?.content ?? { calls: [dig({ arguments: 'one' })] };
      },
      { record: false },
    );
    const runtime = await openRuntime({
      cwd: shop.cwd,
      home: shop.home,
      env: {},
      store: machine.store,
      model: client,
      tools: [machine.tool(look)],
    });
    return { machine, runtime };
  };
  // In the child's tool: its parent's call has begun and has no result.
  const whole = await life();
  await (await whole.runtime.session()).send('go').result;
  const inTool = whole.machine.points.indexOf('before look') + 1;
  const first = await life(inTool);
  const session = await first.runtime.session();
  void session.send('go').result.catch(() => {});
  await first.machine.death;
  await first.machine.settle();
  const cut = (await store.list({ root: session.id })).sessions;
  expect(cut.map(({ status }) => status)).toEqual(['open', 'open']);

  const second = await life();
  const run = await (await second.runtime.session({ resume: session.id })).resume().result;
  const child = cut.find(({ kind }) => kind === 'child')?.session;
  expect(run.answer).toMatch(new RegExp(`^Subagent reference: ${child}\\nStatus: completed[\\s\\S]*dug$`));
  expect((await store.list({ root: session.id })).sessions).toHaveLength(2);
  first.machine.bury();
});
