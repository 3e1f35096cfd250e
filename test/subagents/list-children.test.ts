import { expect, test } from 'vitest';
import { call, workshop } from '../runtime/workshop.ts';

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
