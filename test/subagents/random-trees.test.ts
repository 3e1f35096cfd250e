import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { ReasonixError } from '../../src/core/errors.ts';
import type { Limits } from '../../src/core/limits.ts';
import { addUsage, noUsage, totalTokens } from '../../src/core/usage.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { type ScriptedFunction, scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { Thread } from '../../src/session/thread.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { statusText } from '../../src/subagents/result-text.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import { logViolations } from '../faults/check.ts';
import { type Logs, readLogs, rest } from '../faults/lives.ts';
import { Machine } from '../faults/machine.ts';

/** A session of a random tree: what it does before it answers, and how it ends. */
interface Node {
  /** Steps with a read before anything else. */
  reads: number;
  children: Node[];
  /** All children in one step, or one after the other. */
  sideBySide: boolean;
  /** They run beside the turn, and are heard of in messages. */
  inBackground: boolean;
  end: 'answer' | 'fail' | 'empty';
  /** Of its skill; a root has those of the turn. */
  steps?: number | undefined;
  tokens?: number | undefined;
}

interface Plan {
  root: Node;
  limits: Limits;
  concurrency: number;
  /** The model call at which the turn is cancelled. */
  cancelAt?: number | undefined;
  /** Points at which its processes die. */
  deaths: number[];
}

/** What each model call uses. A call costs 1. */
const TOKENS = 11;
const PRICE = { input: 1e6 / TOKENS, output: 1e6 / TOKENS };

/** Mostly nothing. */
const seldom = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const { tree } = fc.letrec<{ tree: Node }>((tie) => ({
  tree: fc.record({
    reads: fc.nat(2),
    children: fc.oneof(
      { maxDepth: 3 },
      { weight: 1, arbitrary: fc.constant<Node[]>([]) },
      { weight: 2, arbitrary: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }) },
    ),
    sideBySide: fc.boolean(),
    inBackground: fc.boolean(),
    end: fc.oneof({ weight: 6, arbitrary: fc.constant('answer' as const) }, fc.constantFrom('fail', 'empty')),
    steps: seldom(fc.integer({ min: 1, max: 4 })),
    tokens: seldom(fc.integer({ min: 5, max: 120 })),
  }),
}));

const plan: fc.Arbitrary<Plan> = fc.record({
  root: tree,
  limits: fc.record(
    {
      steps: fc.integer({ min: 1, max: 8 }),
      tokens: fc.integer({ min: 10, max: 300 }),
      cost: fc.integer({ min: 1, max: 25 }),
      spawns: fc.nat(8),
    },
    { requiredKeys: [] },
  ),
  concurrency: fc.integer({ min: 1, max: 4 }),
  cancelAt: seldom(fc.integer({ min: 1, max: 20 })),
  deaths: fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 2 }),
});

/** A tree that nothing stops: its answer is known beforehand. */
const freely = (given: Plan): Plan => ({
  root: unlimited(given.root),
  limits: {},
  concurrency: given.concurrency,
  deaths: given.deaths,
});
const unlimited = (node: Node): Node => ({
  ...node,
  steps: undefined,
  tokens: undefined,
  children: node.children.map(unlimited),
});

const root = mkdtempSync(join(tmpdir(), 'reasonix-trees-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let runs = 0;

const nodeAt = (node: Node, path: readonly number[]): Node | undefined =>
  path.reduce<Node | undefined>((at, index) => at?.children[index], node);
const pathOf = (skill: string | undefined): number[] => (skill ?? 'n').split('-').slice(1).map(Number);
const skillAt = (path: readonly number[]): string => ['n', ...path].join('-');

function writeSkills(cwd: string, node: Node, path: readonly number[]): void {
  if (path.length > 0) {
    const folder = join(cwd, '.reasonix/skills', skillAt(path));
    mkdirSync(folder, { recursive: true });
    const limits = [
      ...(node.steps === undefined ? [] : [`max-steps: ${node.steps}`]),
      ...(node.tokens === undefined ? [] : [`max-tokens: ${node.tokens}`]),
    ];
    const header = [`name: ${skillAt(path)}`, 'description: A node.', 'runAs: subagent', ...limits];
    writeFileSync(join(folder, 'SKILL.md'), `---\n${header.join('\n')}\n---\nYou are a node.\n`);
  }
  for (const [index, child] of node.children.entries()) writeSkills(cwd, child, [...path, index]);
}

/** What a parent gets to read of a child, without its reference and counts. */
const seen = (content: string): string => {
  const status = /^Status: (\S+)/m.exec(content)?.[1] ?? 'none';
  return status === 'completed' ? `${status} ${content.split('\n\n').at(-1)}` : status;
};

/** The answer of a node whose children came to these. */
const answerOf = (path: readonly number[], parts: readonly string[]): string => `${skillAt(path)}[${parts.join('|')}]`;

/** What a tree that nothing stops comes to. */
function oracle(node: Node, path: readonly number[]): string {
  const parts = node.children.map((child, index) => oracle(child, [...path, index]));
  return node.end === 'answer' ? `completed ${answerOf(path, parts)}` : 'failed';
}

/** Each node's model: what it says follows from how many answers of its own its request holds. */
const scriptOf =
  (plan: Plan): ScriptedFunction =>
  (request) => {
    const path = pathOf(request.skill);
    const node = nodeAt(plan.root, path);
    if (!node) throw new Error(`no node at ${path}`);
    const usage = { input: TOKENS - 1, output: 1 };
    if (request.toolChoice === 'none') return { text: `${skillAt(path)} sums up`, usage };
    const spawn = (index: number) => ({
      name: 'run_skill',
      arguments: { name: skillAt([...path, index]), arguments: 'Go.', background: node.inBackground },
    });
    const all = node.children.map((_, index) => spawn(index));
    const steps = [
      ...Array.from({ length: node.reads }, () => [{ name: 'look', arguments: {} }]),
      ...(node.sideBySide && all.length > 0 ? [all] : all.map((one) => [one])),
    ];
    const calls = steps[request.messages.filter(({ role }) => role === 'assistant').length];
    if (calls) return { calls, usage };
    if (node.end === 'fail') throw new ReasonixError('provider', 'broken', { details: { retryable: false } });
    return { text: node.end === 'empty' ? '' : answerOf(path, childParts(request, path, node)), usage };
  };

/** What it has heard of its children, in their order: in results, or in messages beside them. */
const childParts = ({ messages }: ModelRequest, path: readonly number[], { children }: Node): string[] => {
  const texts = messages.flatMap((message) => (message.role === 'assistant' ? [] : [message.content]));
  const heard = texts.filter((text) => !text.includes('\nStatus: running\n'));
  return children.flatMap((_, index) => {
    const text = heard.find((one) => one.includes(`\nSkill: ${skillAt([...path, index])} ·`));
    return text === undefined ? [] : [seen(text)];
  });
};

/** Runs a plan to its end, in as many lives as it takes. */
async function grow(given: Plan): Promise<{ logs: Logs; store: SessionStore; cancelled: boolean }> {
  const folder = join(root, String(runs++));
  const cwd = join(folder, 'project');
  mkdirSync(cwd, { recursive: true });
  writeSkills(cwd, given.root, []);
  const store = memoryStore();
  const controller = new AbortController();
  const { signal } = controller;
  const machines: Machine[] = [];
  let asked = 0;
  for (const dieAt of [...given.deaths, undefined]) {
    const machine = new Machine({
      store,
      dieAt,
      asked: () => {
        if (++asked === given.cancelAt) controller.abort();
      },
    });
    machines.push(machine);
    const running = live(given, machine, { cwd, home: folder }, await readLogs(store), signal);
    running.catch(() => {});
    await Promise.race([running, machine.death]);
    if (machine.isDead) await machine.settle();
    else await running;
  }
  for (const machine of machines) machine.bury();
  rmSync(folder, { recursive: true, force: true });
  return { logs: await readLogs(store), store, cancelled: signal.aborted };
}

async function live(
  given: Plan,
  machine: Machine,
  place: { cwd: string; home: string },
  logs: Logs,
  signal: AbortSignal,
): Promise<void> {
  const todo = rest(logs);
  if (!todo) return;
  const client = machine.model(scriptedModel(scriptOf(given), { record: false }));
  const runtime = await openRuntime({
    ...place,
    env: {},
    models: {
      resolve: async () => ({ client, provider: 'scripted', model: 'm', contextWindow: 128_000, price: PRICE }),
    },
    store: machine.store,
    tools: [
      defineTool({
        name: 'look',
        description: 'Looks.',
        input: z.object({}),
        effects: 'read',
        execute: async () => 'seen',
      }),
    ],
    limits: given.limits,
    overrides: [`agent.max_concurrent=${given.concurrency}`, 'agent.max_depth=5'],
    onProblem: () => {},
  });
  const session = await runtime.session(todo.kind === 'new' ? {} : { resume: todo.root });
  await (todo.kind === 'resume' ? session.resume({ signal }) : session.send('Go.', { signal })).result;
}

/** What must hold of every tree, whatever stopped it. */
async function treeViolations(given: Plan, { logs, store }: { logs: Logs; store: SessionStore }): Promise<string[]> {
  const threads = new Map([...logs].map(([session, events]) => [session, Thread.fold(session, events)]));
  const wrong = [...logs].flatMap(([session, events]) => logViolations(session, events));
  const top = [...threads.values()].find(({ started }) => started?.kind === 'root');
  if (!top) return [...wrong, 'there is no root'];

  const { sessions } = await store.list({}, { limit: 1000 });
  for (const { session, holder } of sessions) if (holder !== undefined) wrong.push(`${session} is held`);

  const sum = [...threads.values()].reduce((total, { usage }) => addUsage(total, usage), noUsage());
  const inclusive = addUsage(top.usage, top.childUsage);
  if (JSON.stringify(sum) !== JSON.stringify(inclusive)) {
    wrong.push(`${totalTokens(sum)} tokens were used, and the root's total is ${totalTokens(inclusive)}`);
  }

  const below = (session: string): Thread[] =>
    [...threads.values()].flatMap((thread) =>
      thread.started?.parent?.session === session ? [thread, ...below(thread.session)] : [],
    );
  for (const thread of threads.values()) {
    const isRoot = thread === top;
    const node = nodeAt(given.root, pathOf(thread.started?.skill?.name));
    const limits: Limits = isRoot ? given.limits : { steps: node?.steps, tokens: node?.tokens };
    const family = [thread, ...below(thread.session)];
    const tokens = family.reduce((total, { usage }) => total + totalTokens(usage), 0);
    // However many sessions draw on it, one call meets a limit, and one more sums up.
    const calls = tokens / TOKENS;
    const met = limits.tokens && Math.ceil(limits.tokens / TOKENS) * TOKENS;
    const over = (which: string, used: number, limit: number | undefined, allowed: number) => {
      if (limit !== undefined && used > limit + allowed) {
        wrong.push(`${thread.started?.skill?.name ?? 'root'}: ${used} ${which}, with a limit of ${limit}`);
      }
    };
    over('steps', thread.steps, limits.steps, 1);
    over('tokens', tokens, met, TOKENS);
    over('cost', calls, limits.cost, 1);
    over('spawns', family.length - 1, limits.spawns, 0);
    wrong.push(...untruths(thread, logs, threads));
  }
  return wrong;
}

/** What results in a parent's log say of children, against the children's own logs. */
function untruths(thread: Thread, logs: Logs, threads: ReadonlyMap<string, Thread>): string[] {
  const wrong: string[] = [];
  const end = thread.lastTurn;
  if (end?.status === 'completed' && end.answer === '') wrong.push(`${thread.session} completed with nothing`);
  if ((end?.status === 'limit') !== (end?.limit !== undefined)) wrong.push(`${thread.session}: which limit?`);
  for (const event of logs.get(thread.session) ?? []) {
    const tells = event.type === 'tool.result' || event.type === 'user.message';
    if (!tells || event.child === undefined || event.content.includes('\nStatus: running\n')) continue;
    const child = threads.get(event.child)?.lastTurn;
    if (!child || seen(event.content).split(' ')[0] !== statusText(child)) {
      wrong.push(`${event.child} is ${child?.status}, and its parent was told ${seen(event.content)}`);
    }
    if (child?.answer && !event.content.endsWith(child.answer)) wrong.push(`${event.child}: another answer`);
  }
  return wrong;
}

it('random trees with failures, limits, cancels and restarts keep their accounts and their word', {
  timeout: 180_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => {
      expect(await treeViolations(given, await grow(given))).toEqual([]);
    }),
    { numRuns: Number(process.env.TREES ?? 60) },
  );
});

it('random trees that nothing stops come to the answer that they would have without restarts', {
  timeout: 180_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(plan.map(freely), async (given) => {
      const grown = await grow(given);
      expect(await treeViolations(given, grown)).toEqual([]);
      const top = [...grown.logs].find(([, [first]]) => first?.type === 'session.started' && first.kind === 'root');
      const end = top && Thread.fold(...top).lastTurn;
      const is = end && (end.status === 'completed' ? `completed ${end.answer}` : statusText(end));
      expect(is).toBe(oracle(given.root, []));
    }),
    { numRuns: Number(process.env.TREES ?? 30) },
  );
});

const leaf: Node = { reads: 1, children: [], sideBySide: false, inBackground: false, end: 'answer' };
const chain: Node = { ...leaf, reads: 0, children: [{ ...leaf, reads: 0, children: [leaf] }] };

it.each<[string, Partial<Plan>]>([
  ['that meets a limit sums up once', { root: { ...leaf, children: [{ ...leaf, steps: 1 }] }, limits: { steps: 2 } }],
  ['that is cancelled leaves no child open', { root: chain, cancelAt: 3 }],
])('a tree %s, at whatever point it dies', { timeout: 120_000 }, async (_, part) => {
  const given: Plan = { root: leaf, limits: {}, concurrency: 2, deaths: [], ...part };
  for (let point = 1; point <= 70; point++) {
    const one = { ...given, deaths: [point] };
    expect({ point, wrong: await treeViolations(one, await grow(one)) }).toEqual({ point, wrong: [] });
  }
});
