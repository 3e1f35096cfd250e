import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Message } from '../../src/core/messages.ts';
import { byteLength } from '../../src/core/text.ts';
import type { ModelRequest, Models } from '../../src/models/contract.ts';
import { type ScriptedModel, scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { call, workshop } from './workshop.ts';

const LIMIT = 32 * 1024;

const toolOf = (name: string, maxResult?: number) =>
  defineTool({
    name,
    description: 'Takes a note.',
    input: z.object({ size: z.number().optional() }),
    effects: 'read',
    maxResult,
    execute: async ({ size = 3 }) => 'n'.repeat(size),
  });
const note = toolOf('note', 1_000);

const ofSkill = (model: ScriptedModel, name: string): ModelRequest[] =>
  model.requests.filter(({ skill }) => skill === name);
const resultsIn = (request: ModelRequest | undefined): string[] =>
  request?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])) ?? [];
const textOf = (message: Message | undefined): string =>
  message === undefined || message.role === 'assistant' ? '' : message.content;
const namesOf = (request: ModelRequest | undefined) => request?.tools.map(({ name }) => name);

test.each<[string, string[], Record<string, unknown>]>([
  ['says how long its results are', ['note'], { 'allowed-tools': 'note' }],
  ['is none', [], { 'allowed-tools': [] }],
  ['says so, but not of another one', ['note', 'dump', 'read_result'], { 'allowed-tools': 'note, dump' }],
  ['may give as much as a result has at most', ['most'], { 'allowed-tools': 'most' }],
  ['may give more than a result has at most', ['more', 'read_result'], { 'allowed-tools': 'more' }],
  ['says so, with read_result asked for', ['note', 'read_result'], { 'allowed-tools': 'note, read_result' }],
  ['may start others', ['note', 'run_skill', 'read_result'], { 'allowed-tools': 'note, run_skill' }],
])('a child whose tool %s has %j', async (_, expected, keys) => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', ...keys }, 'Work.\n');
  const tools = [note, toolOf('dump'), toolOf('most', LIMIT), toolOf('more', LIMIT + 1)];
  const { runtime, model } = await shop.open(() => 'done', { tools });
  const run = await runtime.skill('worker').run('x');
  await run.continue('more');
  const [first, second] = ofSkill(model, 'worker');
  expect(namesOf(first)?.toSorted()).toEqual(expected.toSorted());
  // in a process of its own it would be the same: what is frozen stays
  expect(second?.tools).toEqual(first?.tools);
});

test('a result beyond what its tool said is cut there; the log has all of it', async () => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', 'allowed-tools': 'note' }, 'Work.\n');
  const { runtime, model } = await shop.open(
    ({ messages }) => (messages.length === 1 ? { calls: [call('note', { size: 5_000 })] } : 'done'),
    { tools: [note] },
  );
  const run = await runtime.skill('worker').run('x');
  const [result = ''] = resultsIn(ofSkill(model, 'worker')[1]);
  expect(byteLength(result)).toBeLessThanOrEqual(1_000);
  expect(result).toContain('\n[… clipped: 5000 bytes in all; the rest cannot be read …]\n');
  const events = await runtime.store.read(run.ref);
  expect(events.find((event) => event.type === 'tool.result')).toMatchObject({ full: 'n'.repeat(5_000) });
});

test('a root reads on in such a result', async () => {
  const { runtime, model } = await workshop().open(
    ({ messages }) => (messages.length === 1 ? { calls: [call('note', { size: 5_000 })] } : 'done'),
    { tools: [note] },
  );
  await (await runtime.session()).send('x').result;
  const [result = ''] = resultsIn(model.requests[1]);
  expect(byteLength(result)).toBeLessThanOrEqual(1_000);
  expect(result).toContain('read on with read_result {"id":"');
});

test('what is left out of a context names no tool that is not there', async () => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', 'allowed-tools': 'long' }, 'Work.\n');
  let calls = 0;
  const client = scriptedModel(() => (calls++ < 60 ? { calls: [call('long', { size: 3_000 })] } : 'done'));
  const models: Models = {
    resolve: async () => ({
      client,
      provider: 'scripted',
      model: 'm',
      contextWindow: 12_000,
      isWindowKnown: true,
      price: undefined,
    }),
  };
  const runtime = await openRuntime({
    cwd: shop.cwd,
    home: shop.home,
    env: {},
    models,
    tools: [toolOf('long', 4_000)],
    overrides: ['agent.child_max_steps=100'],
  });
  onTestFinished(() => runtime.close());
  const run = await runtime.skill('worker').run(`x ${'task '.repeat(8_000)}`);
  expect(run.status).toBe('completed');
  const texts = ofSkill(client, 'worker').flatMap(({ messages }) => messages.map(textOf));
  expect(texts).toContain('[left out to save room]');
  expect(texts.some((text) => text.includes('the rest cannot be read'))).toBe(true);
  expect(texts.filter((text) => text.includes('read_result'))).toEqual([]);
});

test('a child that begins with answers of others can read on in them; one that is there already is told if not', async () => {
  const shop = workshop();
  shop.skill('writer', { runAs: 'subagent', 'allowed-tools': [] }, 'Write.\n');
  shop.skill('worker', { runAs: 'subagent', 'allowed-tools': 'note' }, 'Work.\n');
  const { runtime, model } = await shop.open(({ skill }) => (skill === 'writer' ? 'long '.repeat(20_000) : 'done'), {
    tools: [note],
  });
  const session = await runtime.session();
  const written = await session.runSkill({ name: 'writer', arguments: 'x' }).result;
  const ref = written.subagents[0]?.ref ?? '';
  await session.runSkill({ name: 'worker', arguments: 'with it', inputs_from: [ref] }).result;
  const [fresh] = ofSkill(model, 'worker');
  expect(namesOf(fresh)).toContain('read_result');
  expect(textOf(fresh?.messages[0])).toContain(`read on with read_result {"reference":"${ref}"`);
  const plain = await session.runSkill({ name: 'worker', arguments: 'without' }).result;
  await session.runSkill({
    name: 'worker',
    continue_from: plain.subagents[0]?.ref,
    arguments: 'now with',
    inputs_from: [ref],
  }).result;
  const continued = ofSkill(model, 'worker').at(-1);
  expect(namesOf(continued)).toEqual(['note']);
  expect(textOf(continued?.messages.at(-1))).toContain('[… 100000 bytes in all; the rest cannot be read …]');
});

test('with agent.child_notice off a child is told what its skill says, and nothing else', async () => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', 'allowed-tools': 'note' }, 'Take one note.\n');
  shop.skill('reader', { runAs: 'subagent', 'allowed-tools': 'read_file' }, 'Read.');
  shop.skill('shaped', { runAs: 'subagent', 'allowed-tools': [], 'output-schema': { type: 'object' } }, 'Shape.');
  const { runtime, model } = await shop.open(() => '{}', { tools: [note], overrides: ['agent.child_notice=false'] });
  for (const name of ['worker', 'reader', 'shaped']) await runtime.skill(name).run('x');
  const [worker, reader, shaped] = model.requests.map(({ system }) => system);
  expect(worker).toBe('Take one note.\n');
  expect(reader).toBe('Read.');
  expect(shaped).toMatch(/^Shape\.\n\n.*\{"type":"object"\}/s);
});

test.each([
  [true, ['note', 'read_file']],
  [false, ['note']],
])('run_skill names the folders of skills where a tool works in them: %s', async (isNamed, enabled) => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent' }, 'Work.\n');
  const { runtime, model } = await shop.open(() => 'done', {
    tools: [note],
    overrides: [`tools.enabled=${JSON.stringify(enabled)}`],
  });
  await (await runtime.session()).send('x').result;
  const tool = model.requests[0]?.tools.find(({ name }) => name === 'run_skill');
  expect(tool?.description).toContain('- worker [subagent]: About worker.');
  expect(tool?.description.includes('Skill folders')).toBe(isNamed);
});

test('a tool that says a size that is none is refused where it is defined', () => {
  expect(() => toolOf('note', 0)).toThrow('the tool note has the maxResult 0: give bytes, or leave it out');
  expect(() => toolOf('note', Number.NaN)).toThrow(RangeError);
});

test('a tool that a program no longer has is not named as one to call instead', async () => {
  const shop = workshop();
  const first = await shop.open(() => 'done', { tools: [toolOf('note', 100)] });
  const { id } = await first.runtime.session();
  await first.runtime.close();
  const { runtime, model } = await shop.open(({ messages }) =>
    messages.at(-1)?.role === 'user' ? { calls: [call('note', {})] } : 'done',
  );
  await (await runtime.session({ resume: id })).send('x').result;
  const said = model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool');
  expect(said).toMatchObject({ content: expect.stringContaining('There is no tool "note"') });
  expect(said).toMatchObject({ content: expect.not.stringMatching(/Call one of:.*\bnote\b/) });
});
