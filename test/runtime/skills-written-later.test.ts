import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../src/tools/define-tool.ts';
import { call, workshop } from './workshop.ts';

/** A program that has run for long: its library was opened before the skill was there. */
async function running(options: Parameters<ReturnType<typeof workshop>['open']>[1] = {}) {
  const shop = workshop();
  shop.skill('early', { runAs: 'subagent', 'allowed-tools': [] }, 'Work.');
  const { runtime, model } = await shop.open(
    ({ skill }) => (skill === undefined ? 'root done' : `${skill} done`),
    options,
  );
  const session = await runtime.session();
  expect((await session.runSkill({ name: 'early', arguments: 'x' }).result).answer).toBe('early done');
  const write = (header: Record<string, unknown> = {}) =>
    shop.skill('late', { runAs: 'subagent', 'allowed-tools': [], ...header }, 'Work later.');
  return { shop, runtime, model, session, write };
}

test('a skill written later runs from a session that was there, from a new one, and by its handle', async () => {
  const { runtime, session, write } = await running();
  await expect(runtime.skill('late').run('x')).rejects.toThrow('There is no skill "late"');
  write();
  expect((await runtime.skill('late').run('x')).answer).toBe('late done');
  expect((await session.runSkill({ name: 'late', arguments: 'x' }).result).answer).toBe('late done');
  expect((await runtime.library()).find('late').status).toBe('found');
});

test('a new session lists it, and is told of no change', async () => {
  const { runtime, model, write } = await running();
  write();
  await (await runtime.session()).send('x').result;
  const last = model.requests.at(-1);
  expect(last?.tools.find(({ name }) => name === 'run_skill')?.description).toContain('- late [subagent]');
  expect(last?.messages).toHaveLength(1);
});

test('a restriction that was added later binds the next run', async () => {
  const note = defineTool({
    name: 'note',
    description: 'Takes a note.',
    input: z.object({}),
    effects: 'read',
    execute: async () => 'noted',
  });
  const { runtime, model, write } = await running({ tools: [note] });
  write({ 'allowed-tools': 'note' });
  await runtime.skill('late').run('x');
  write({ 'allowed-tools': [], description: 'May do nothing.' });
  await runtime.skill('late').run('x');
  const tools = model.requests
    .filter(({ skill }) => skill === 'late')
    .map((request) => request.tools.map(({ name }) => name));
  expect(tools).toEqual([['note', 'read_result'], []]);
});

test('a model runs a skill that was written in the middle of its turn', async () => {
  const shop = workshop();
  shop.skill('early', { runAs: 'subagent' }, 'Work.');
  const { runtime, model } = await shop.open(({ skill, messages }) => {
    if (skill !== undefined) return 'late done';
    if (messages.length > 1) return 'done';
    shop.skill('late', { runAs: 'subagent', 'allowed-tools': [] }, 'Work later.');
    return {
      calls: [call('run_skill', { name: 'late', arguments: 'x' }), call('run_skill', { name: 'none', arguments: 'x' })],
    };
  });
  await (await runtime.session()).send('x').result;
  const results = model.requests
    .at(-1)
    ?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
  expect(results?.[0]).toContain('late done');
  expect(results?.[1]).toContain('There is no skill "none"');
});
