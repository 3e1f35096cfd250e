import { expect, test } from 'vitest';
import { z } from 'zod';
import { byteLength } from '../../src/core/text.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { dialectOf } from '../../src/models/dialects.ts';
import { toOpenAIBody } from '../../src/models/openai-body.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { call, workshop } from './workshop.ts';

const dialect = dialectOf({ name: 'openai', model: 'm' });
const size = (request: ModelRequest, by = dialect): number =>
  byteLength(JSON.stringify(toOpenAIBody(request, { dialect: by })));
const sizeOf = (value: unknown): number => byteLength(JSON.stringify(value));

const note = defineTool({
  name: 'note',
  description: 'Takes a note.',
  input: z.object({ text: z.string() }),
  effects: 'read',
  execute: async ({ text }) => text,
});

test("a child's first request is small: its body, its task, its own tools, and little else", async () => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', 'allowed-tools': 'note' }, 'Take one note, then answer.');
  const { runtime, model } = await shop.open(
    ({ skill, messages }) =>
      skill === undefined && messages.length === 1
        ? { calls: [call('run_skill', { name: 'worker', arguments: 'the task' })] }
        : 'done',
    { tools: [note] },
  );
  await (await runtime.session()).send('x').result;
  const child = model.requests.find(({ skill }) => skill === 'worker');
  expect(child?.tools.map(({ name }) => name)).toEqual(['note', 'read_result']);
  // It can have no children, so that it is told of its own results alone.
  expect(child?.tools[1]?.description).not.toContain('sub-agent');
  // The library of skills does not know a tool of the program around it: the child has it all the same.
  expect(child?.system).toBe(
    'Take one note, then answer.\n\nAsk no questions; only your last message returns: make it the whole answer.',
  );
  const own = sizeOf('Take one note, then answer.') + sizeOf('the task') + sizeOf(child?.tools[0]);
  expect(child && size(child) - own).toBeLessThan(535);
});

test.each<[string, boolean, Record<string, unknown>]>([
  ['a tool that reads files', true, { 'allowed-tools': 'note, read_file' }],
  ['a shell', true, { 'allowed-tools': 'shell(git *)' }],
  ['all tools', true, {}],
  ['a tool of an MCP server, also one that comes later', true, { 'allowed-tools': 'mcp__docs__find' }],
  ['any tools of some name', true, { 'allowed-tools': '*_find' }],
  ['a tool of the program around it', false, { 'allowed-tools': 'note' }],
  ['the web, and sub-agents', false, { 'allowed-tools': 'web_fetch, run_skill' }],
  ['files, which are refused it', false, { 'allowed-tools': 'note, write_file', 'read-only': true }],
  ['no tool', false, { 'allowed-tools': [] }],
])('a child that has %s is told where it works: %s', async (_, isTold, keys) => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', ...keys }, 'Work.\n');
  const { runtime, model } = await shop.open(() => 'done', { tools: [note] });
  const run = await runtime.skill('worker').run('x');
  await run.continue('more');
  const [first, second] = model.requests.map(({ system }) => system);
  expect(first?.startsWith(`Work.\n\n${isTold ? `You work in ${shop.cwd}. ` : ''}Ask no `)).toBe(true);
  expect(second).toBe(first);
});

test('a parent is shown run_skill with as few words as it takes', async () => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent' }, 'Work.');
  const { runtime, model } = await shop.open(() => 'done');
  await (await runtime.session()).send('x').result;
  const tool = model.requests[0]?.tools.find(({ name }) => name === 'run_skill');
  expect(sizeOf(tool?.parameters)).toBeLessThanOrEqual(610);
});

test('a child is told of a tool that its skill names and nobody has', async () => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', 'allowed-tools': 'note, Frobnicate' }, 'Work.');
  const { runtime, model } = await shop.open(
    ({ skill, messages }) =>
      skill === undefined && messages.length === 1
        ? { calls: [call('run_skill', { name: 'worker', arguments: 'the task' })] }
        : 'done',
    { tools: [note] },
  );
  await (await runtime.session()).send('x').result;
  const system = model.requests.find(({ skill }) => skill === 'worker')?.system;
  expect(system).toContain('Frobnicate. Work without them.');
  expect(system).not.toContain(': note');
});

test('the first request of a run, without what skills and sub-agents bring, is within 4 KB', async () => {
  const { runtime, model } = await workshop().open(() => 'done');
  await (await runtime.session()).send('x').result;
  const [first] = model.requests;
  const tools = first?.tools.filter(({ name }) => !/skill|subagent/.test(name)) ?? [];
  expect(first && size({ ...first, tools })).toBeLessThan(4_096);
});

/** `bench/README.md`: all requests of the leanest of the peers' ways to do it. */
const LEANEST_PEER = 12_843;

test('ten children by one call of items, with nothing but what the job needs, take fewer bytes than the peers', async () => {
  const shop = workshop();
  shop.skill('worker', { runAs: 'subagent', 'allowed-tools': 'note' }, 'Take one note, then answer.');
  shop.write(
    'reasonix.toml',
    `[agent]
background = false
child_notice = false
[tools]
enabled = ["note"]
[skills]
disabled_skills = ["create-skill", "edit-skill", "explore", "research", "review", "security-review", "synthesize"]
[permissions]
deny = ["install_skill", "read_skill", "list_subagents", "read_result"]
`,
  );
  const items = Array.from({ length: 10 }, (_, index) => `task ${index}`);
  const { runtime, model } = await shop.open(
    ({ skill, messages }) => {
      if (messages.length > 1) return 'done';
      return {
        calls: [skill === undefined ? call('run_skill', { name: 'worker', items }) : call('note', { text: 'step 0' })],
      };
    },
    { tools: [{ ...note, maxResult: 1_000 }] },
  );
  await (await runtime.session({ system: 'You take notes.' })).send('Take notes.').result;
  expect(model.requests).toHaveLength(22);
  const compatible = dialectOf({ name: 'standin', baseUrl: 'http://127.0.0.1:1/v1', model: 'm' });
  expect(model.requests.reduce((sum, request) => sum + size(request, compatible), 0)).toBeLessThan(LEANEST_PEER);
});
