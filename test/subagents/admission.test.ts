import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startTask } from '../../src/cli/run/start-task.ts';
import { taskOf } from '../../src/cli/run/task.ts';
import { noUsage } from '../../src/core/usage.ts';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import type { RunResult } from '../../src/runtime/run-report.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import type { SessionHandle } from '../../src/runtime/session-handle.ts';
import { Admission } from '../../src/subagents/admission.ts';
import { call, type Workshop, workshop } from '../runtime/workshop.ts';

/** The first message of a turn says which call the model makes: `tool {"name":…}`. */
const script = (request: ModelRequest) => {
  const last = request.messages.at(-1);
  if (last?.role === 'tool') return 'over';
  if (request.skill === 'outer') return { calls: [call('run_skill', { name: 'dig', arguments: 'nested' })] };
  if (request.skill) return 'dug';
  return last?.role === 'user' && last.content.startsWith('tool ')
    ? { calls: [call('run_skill', JSON.parse(last.content.slice(5)))] }
    : 'nothing to do';
};

interface Tried {
  runtime: Runtime;
  /** A session that has a child already. */
  session: SessionHandle;
  /** That child. */
  ref: string;
}

type Ended = Pick<RunResult, 'session' | 'subagents'>;

/** A line that somebody types into a chat. */
async function inChat({ runtime, session }: Tried, line: string): Promise<Ended> {
  const task = taskOf(line, undefined, await runtime.library());
  return startTask(session, task, new AbortController().signal).result;
}

/** A call of an agent outside; its session is the one that did something last. */
async function byMcp({ runtime }: Tried, input: object): Promise<Ended> {
  const { signal } = new AbortController();
  const outcome = await runtime.outsideCalls().call('run_skill', { name: 'dig', arguments: 'x', ...input }, { signal });
  const { sessions } = await runtime.store.list({ kind: 'root' }, { limit: 1, by: 'updated' });
  const { ref, status = '', steps = 0, usage = noUsage() } = outcome?.run ?? {};
  const { session = '' } = sessions[0] ?? {};
  return { session, subagents: ref ? [{ ref, parent: session, depth: 1, skill: 'dig', status, steps, usage }] : [] };
}

/** Every way that leads to a child. */
const WAYS: readonly [name: string, go: (tried: Tried) => Promise<Ended>][] = [
  ['a tool call', ({ session }) => session.send('tool {"name":"dig","arguments":"x"}').result],
  ['a slash command', ({ session }) => session.runSkill({ name: 'dig', arguments: 'x' }).result],
  ['the library', async ({ runtime }) => (await runtime.skill('dig').run('x')).result],
  [
    'the library, in a session',
    async ({ runtime, session }) => (await runtime.skill('dig').run('x', { session })).result,
  ],
  [
    'a continuation',
    ({ session, ref }) => session.runSkill({ name: 'dig', arguments: 'more', continue_from: ref }).result,
  ],
  [
    'a continuation by the model',
    ({ session, ref }) => session.send(`tool {"name":"dig","arguments":"x","continue_from":"${ref}"}`).result,
  ],
  ['a fork', ({ session, ref }) => session.runSkill({ name: 'dig', arguments: 'more', fork_from: ref }).result],
  [
    'answers of others as inputs',
    ({ session, ref }) => session.runSkill({ name: 'dig', arguments: 'more', inputs_from: [ref] }).result,
  ],
  ['a list of items', ({ session }) => session.send('tool {"name":"dig","items":["x"]}').result],
  ['a line of a chat', (tried) => inChat(tried, '/dig x')],
  ['a message in a chat', (tried) => inChat(tried, 'tool {"name":"dig","arguments":"x"}')],
  ['an MCP client', (tried) => byMcp(tried, {})],
  ['an MCP client that goes on', (tried) => byMcp(tried, { continue_from: tried.ref })],
  ['an MCP client that copies', (tried) => byMcp(tried, { fork_from: tried.ref })],
  ['an MCP client with inputs', (tried) => byMcp(tried, { inputs_from: [tried.ref] })],
  ['an MCP client with items', (tried) => byMcp(tried, { arguments: undefined, items: ['x'] })],
  ['the background', ({ session }) => session.send('tool {"name":"dig","arguments":"x","background":true}').result],
];

const CEILINGS = [
  ['agent.max_spawns=0', /ceiling of 0 sub-agents .*agent\.max_spawns, command line/],
  ['agent.max_depth=0', /cannot go deeper than level 0 .*agent\.max_depth, command line/],
] as const;

let shop: Workshop;
let session: string;
let ref: string;
beforeEach(async () => {
  shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
  shop.skill('outer', { runAs: 'subagent' }, 'Outer.');
  const { runtime } = await shop.open(script);
  const handle = await runtime.session();
  session = handle.id;
  ref = (await handle.send('tool {"name":"dig","arguments":"first"}').result).subagents[0]!.ref;
  await runtime.close();
});

/** Messages that began a turn of any child, over the whole store. */
async function childTurns({ store }: Runtime): Promise<number> {
  const { sessions } = await store.list({ kind: 'child' }, { limit: 1000 });
  const logs = await Promise.all(sessions.map((child) => store.read(child.session)));
  const turns = logs.map((events) => {
    // A fork begins with the turns of its source, which were let in there.
    const copied = events[0]?.type === 'session.started' && events[0].forkedFrom ? 1 : 0;
    return events.filter((event) => event.type === 'user.message' && event.from).length - copied;
  });
  return turns.reduce((sum, each) => sum + each, 0);
}

/** A runtime whose turns it runs itself, or leaves to a worker, which is the same runtime here. */
async function open(where: (typeof PLACES)[number], options: RuntimeOptions = {}) {
  if (where === 'here') return shop.open(script, options);
  const engine = inProcessEngine();
  const opened = await shop.open(script, { ...options, engine });
  const claim = await opened.runtime.work();
  onTestFinished(async () => {
    await claim.close(0);
    await engine.close();
  });
  return opened;
}

const PLACES = ['here', 'on a worker'] as const;

describe.each(PLACES.flatMap((where) => CEILINGS.map((ceiling) => [where, ...ceiling] as const)))(
  '%s, with %s',
  (where, override, says) => {
    test.each(WAYS)('%s is refused, and says by what', async (_, go) => {
      const { runtime, model } = await open(where, { overrides: [override] });
      const before = await childTurns(runtime);
      const result = await go({ runtime, session: await runtime.session({ resume: session }), ref });
      expect(await childTurns(runtime)).toBe(before);
      expect(result.subagents).toEqual([]);
      expect(model.requests.filter(({ skill }) => skill !== undefined)).toEqual([]);
      const events = await runtime.store.read(result.session);
      const refusal = events.findLast((event) => event.type === 'tool.result');
      expect(refusal).toMatchObject({ isError: true, content: expect.stringMatching(says), limit: { limit: 0 } });
    });
  },
);

test.each([
  ['agent.max_spawns=1', 'the ceiling of 1'],
  ['agent.max_depth=1', 'run_skill'],
])('a child below a child is refused with %s', async (override, says) => {
  const { runtime, model } = await shop.open(script, { overrides: [override] });
  const { result } = await runtime.skill('outer').run('x');
  expect(result.subagents.map(({ skill }) => skill)).toEqual(['outer']);
  expect(model.requests.every(({ skill }) => skill === 'outer')).toBe(true);
  const log = await runtime.store.read(result.subagents[0]!.ref);
  const refusal = log.find((event) => event.type === 'tool.result');
  expect(refusal).toMatchObject({ isError: true, content: expect.stringMatching(new RegExp(says, 'i')) });
});

describe.each(PLACES)('%s, without a ceiling', (where) => {
  afterEach(() => void vi.restoreAllMocks());

  test.each([
    ...WAYS,
    ['a child of a child', async ({ runtime }: Tried) => (await runtime.skill('outer').run('x')).result] as const,
  ])('%s is let in once a turn of a child', async (_, go) => {
    const { runtime } = await open(where);
    const before = await childTurns(runtime);
    const check = vi.spyOn(Admission.prototype, where === 'here' ? 'check' : 'admit');
    await go({ runtime, session: await runtime.session({ resume: session }), ref });
    const turns = (await childTurns(runtime)) - before;
    expect(turns).toBeGreaterThan(0);
    expect(check).toHaveBeenCalledTimes(turns);
  });
});

test('no other code starts or runs a session', () => {
  const root = fileURLToPath(new URL('../../src', import.meta.url));
  const using = (pattern: RegExp) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && pattern.test(readFileSync(join(root, file), 'utf8')))
      .map((file) => file.replaceAll('\\', '/'))
      .sort();
  // Workers open and run turns that are in their logs already: those of children were admitted by their callers.
  const worker = 'runtime/session-work.ts';
  expect(using(/\bsession\.run\(/)).toEqual(['runtime/session-handle.ts', worker, 'subagents/runner.ts']);
  expect(using(/\bSession\.(create|copy)\(/)).toEqual(['runtime/runtime.ts', 'subagents/child-sessions.ts']);
  expect(using(/\bSession\.open\(/)).toEqual(['runtime/runtime.ts', worker, 'subagents/child-sessions.ts']);
  expect(using(/\bnew ChildSessions\(/)).toEqual(['subagents/runner.ts']);
  expect(using(/\bnew Admission\(/)).toEqual(['runtime/open-runtime.ts']);
});
