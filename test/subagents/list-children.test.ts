import { expect, test } from 'vitest';
import { memoryStore } from '../../src/store/memory.ts';
import { childLines } from '../../src/subagents/list-children.ts';
import { call, workshop } from '../runtime/workshop.ts';
import { ended, newLog, started, user } from '../store/samples.ts';

test('list_subagents says of each child how it ended, what it used, when, and what it was asked', async () => {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
  shop.skill('short', { runAs: 'subagent', 'max-steps': 1 }, 'Short.');
  const { runtime } = await shop.open((request) => {
    if (request.toolChoice === 'none') return { text: 'so far', usage: { input: 5, output: 5 } };
    if (request.skill === 'short') return { calls: [call('list_files', {})], usage: { input: 10, output: 5 } };
    if (request.skill) return { text: 'dug', usage: { input: 1_000, output: 5 } };
    const done = request.messages.filter(({ role }) => role === 'tool').length;
    if (done === 0) return { calls: [call('list_subagents', {})] };
    if (done === 1) return { calls: [call('run_skill', { name: 'dig', arguments: 'for gold' })] };
    if (done === 2) return { calls: [call('run_skill', { name: 'short', arguments: 'be quick\nand more' })] };
    if (done === 3) return { calls: [call('list_subagents', {})] };
    return 'ok';
  });
  const session = await runtime.session();
  await session.send('go').result;
  const results = (await runtime.store.read(session.id)).flatMap((event) =>
    event.type === 'tool.result' && event.name === 'list_subagents' ? [event.content] : [],
  );
  expect(results[0]).toBe('This session has no sub-agents yet.');
  expect(results[1]?.split('\n')).toEqual([
    expect.stringMatching(/^sa_\w{26} · short · limit:steps · 2 steps · 25 tokens · \d+s ago · be quick$/),
    expect.stringMatching(/^sa_\w{26} · dig · completed · 1 step · 1005 tokens · \d+s ago · for gold$/),
  ]);
});

test('a child at work stays in a short list, however many newer ones have ended', async () => {
  const store = memoryStore();
  const { session: root, first } = newLog();
  await store.append(root, 0, [first]);
  const begin = async (name: string, isOpen: boolean) => {
    const { session } = newLog();
    const parent = { session: root, call: name };
    const log = [started(session, { kind: 'child', root, parent, depth: 1 }), user(name)];
    await store.append(session, 0, isOpen ? log : [...log, ended()]);
    await new Promise((done) => setTimeout(done, 2));
  };
  await begin('early', true);
  await begin('middle', false);
  await begin('late', true);
  for (let count = 0; count < 5; count++) await begin(`done ${count}`, false);

  const tasks = async (limit: number) => (await childLines(store, root, limit)).map((line) => line.split(' · ').at(-1));
  expect((await tasks(4)).slice(0, 4)).toEqual(['done 4', 'done 3', 'late', 'early']);
  expect(await tasks(4)).toHaveLength(5);
  expect((await tasks(1)).slice(0, 1)).toEqual(['late']);
  expect(await tasks(20)).toHaveLength(8);
});
