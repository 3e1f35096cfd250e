import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toAnthropicBody } from '../../src/models/anthropic-body.ts';
import type { ModelRequest } from '../../src/models/contract.ts';
import { dialectOf } from '../../src/models/dialects.ts';
import { modelsOf } from '../../src/models/models.ts';
import { toOpenAIBody } from '../../src/models/openai-body.ts';
import { toResponsesBody } from '../../src/models/responses-body.ts';
import { type ScriptedFunction, scriptedModel } from '../../src/models/scripted.ts';
import { expectStablePrefix, prefixBreaks } from '../../src/models/stable-prefix.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { bundleTs } from '../helpers/bundle-ts.ts';
import { bulky, compactionsIn, isSummary } from '../middleware/compaction-bench.ts';
import { call, type Workshop, workshop } from '../runtime/workshop.ts';
import { arrivedIn, beside, noticesIn, resultsIn } from '../subagents/background-bench.ts';

const SERVER = await bundleTs(new URL('../helpers/mcp-server.js', import.meta.url));
type Reply = Awaited<ReturnType<ScriptedFunction>>;

const STEPS = 200;
const STEPS_A_TURN = 20;

const dialect = dialectOf({ name: 'openai', model: 'm' });

/** What each wire makes of a request. */
const wires: [name: string, body: (request: ModelRequest) => unknown][] = [
  ['requests', (request) => request],
  ['chat completions', (request) => toOpenAIBody(request, { dialect })],
  ['responses', (request) => toResponsesBody(request, { provider: 'openai', cacheKey: true })],
  ['messages', (request) => toAnthropicBody(request)],
];

function configured(shop: Workshop): string {
  const file = join(shop.cwd, 'go');
  const entry = (name: string, mode: string[]): string =>
    `[[mcp]]\nname = "${name}"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify([SERVER, ...mode])}\n`;
  shop.write('reasonix.toml', `[tools]\nmcp_wait = "3s"\n${entry('calc', ['plain'])}${entry('slow', ['late', file])}`);
  return file;
}

it('200 steps with edited skills, servers that reconnect and grow, and children: only compactions break a prefix', async () => {
  const shop = workshop();
  const go = configured(shop);
  const style = (version: number) => shop.skill('style', {}, `STYLE ${version}: short sentences.`);
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  style(0);

  let step = 0;
  const root = (): Reply => {
    step++;
    const phase = step % STEPS_A_TURN;
    if (phase === 0) return `That was step ${step}.`;
    const calls = {
      1: [call('run_skill', { name: 'style' })],
      3: step < STEPS / 2 ? [call('mcp__calc__die', {})] : undefined,
      4: [call('mcp__calc__add', { a: step, b: 1 })],
      5: [call('mcp__calc__grow', {})],
      7: [call('run_skill', { name: 'dig', arguments: `shaft ${step}` })],
      9: [beside('dig', `beside ${step}`), beside('dig', `also ${step}`)],
      11:
        step > 2 * STEPS_A_TURN
          ? [call('call_tool', { name: 'mcp__slow__add', arguments: { a: 1, b: 1 } })]
          : undefined,
    }[phase];
    if (phase === 13) style(step);
    if (phase === 14) shop.skill(`extra-${step}`, {}, 'More.');
    if (phase === 15 && step > STEPS_A_TURN) {
      rmSync(join(shop.cwd, '.reasonix/skills', `extra-${step - STEPS_A_TURN - 1}`), { recursive: true });
    }
    if (step === 6) writeFileSync(go, '');
    const text = `Step ${step}: ${'I note what I saw. '.repeat(4)}`;
    return { text, calls: calls ?? [call('bulky', { size: 1_500, tag: `step ${step}` })] };
  };
  const child = ({ messages }: ModelRequest): Reply =>
    messages.length < 4
      ? { calls: [call('mcp__calc__add', { a: messages.length, b: 0 }), call('bulky', { size: 300 })] }
      : 'found ore';
  const model = scriptedModel((request) =>
    isSummary(request) ? `Summary at step ${step}.` : request.skill ? child(request) : root(),
  );
  const runtime = await openRuntime({
    cwd: shop.cwd,
    home: shop.home,
    env: { PATH: process.env.PATH },
    models: modelsOf(model, { model: 'm', contextWindow: 24_000 }),
    tools: [bulky],
    trustProject: true,
    yes: true,
  });
  try {
    const session = await runtime.session();
    for (let turn = 0; step < STEPS; turn++) {
      const run = await session.send(`part ${turn}`).result;
      expect(run).toMatchObject({ status: 'completed' });
    }
    const events = await runtime.store.read(session.id);
    const compactions = compactionsIn(events).length;
    const requests = model.requests.filter((request) => !isSummary(request));
    const own = requests.filter(({ skill }) => skill === undefined);
    const ofChildren = requests.filter(({ skill }) => skill !== undefined);
    const children = [...new Set(ofChildren.map((request) => request.session))];

    // All of it has happened.
    expect(compactions).toBeGreaterThanOrEqual(2);
    expect(own.length).toBeGreaterThanOrEqual(STEPS);
    expect(children.length).toBe(30);
    const told = (pattern: RegExp) => new Set(own.flatMap(noticesIn).filter((text) => pattern.test(text))).size;
    expect(told(/mcp__slow__add/)).toBe(1);
    expect(told(/mcp__calc__grown/)).toBeGreaterThan(0);
    expect(told(/style/)).toBeGreaterThan(1);
    expect(told(/extra-\d+/)).toBeGreaterThan(1);
    const arrived = own.flatMap(arrivedIn).filter(({ answer }) => answer === 'found ore');
    expect(new Set(arrived.map(({ ref }) => ref)).size).toBe(30);
    const results = new Set(own.flatMap(resultsIn));
    for (let turn = 0; turn < STEPS / STEPS_A_TURN; turn++) expect(results).toContain(`${turn * STEPS_A_TURN + 5}`);

    for (const [name, body] of wires) {
      const breaks = prefixBreaks(own.map(body));
      expect(
        breaks.map(({ part }) => part),
        name,
      ).toEqual(Array(compactions).fill('message'));
      expectStablePrefix(own.map(body), { allowed: compactions });
      for (const child of children) expectStablePrefix(ofChildren.filter((each) => each.session === child).map(body));
    }
  } finally {
    await runtime.close();
  }
}, 60_000);
