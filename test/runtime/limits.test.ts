import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { EventOf } from '../../src/core/events.ts';
import type { LimitName } from '../../src/core/limits.ts';
import type { ModelRequest, Models } from '../../src/models/contract.ts';
import { type ScriptedFunction, scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { call, type Workshop, workshop } from './workshop.ts';

/** A step takes 20 tokens, costs 20 and lasts 20 ms; it never ends by itself. */
const restless: ScriptedFunction = async (request: ModelRequest) => {
  if (request.toolChoice === 'none') return { text: 'summed up' };
  await delay(20);
  const calls =
    request.skill === 'starter' ? [call('run_skill', { name: 'dig', arguments: 'x' })] : [call('list_files', {})];
  return { calls, usage: { input: 10, output: 10 } };
};

function open(shop: Workshop, options: RuntimeOptions = {}, script = restless): Promise<Runtime> {
  const client = scriptedModel(script);
  const models: Models = {
    resolve: async () => ({
      client,
      provider: 'scripted',
      model: 'm',
      contextWindow: 1_000_000,
      price: { input: 1_000_000, output: 1_000_000 },
    }),
  };
  return openRuntime({ cwd: shop.cwd, home: shop.home, env: {}, models, ...options });
}

/** Each limit small enough to be met, as every source writes it. */
const LIMITS: readonly { which: LimitName; key: string; toml: string; limit: number; header: string }[] = [
  { which: 'steps', key: 'max_steps', toml: '2', limit: 2, header: 'max-steps' },
  { which: 'tokens', key: 'max_tokens', toml: '50', limit: 50, header: 'max-tokens' },
  { which: 'cost', key: 'max_cost', toml: '50.5', limit: 50.5, header: 'max-cost' },
  { which: 'time', key: 'timeout', toml: '"150ms"', limit: 150, header: 'timeout' },
  { which: 'spawns', key: 'max_spawns', toml: '0', limit: 0, header: 'max-spawns' },
  { which: 'depth', key: 'max_depth', toml: '0', limit: 0, header: 'max-depth' },
];

const unquoted = (toml: string): string => toml.replaceAll('"', '');

/** Runs into the limit: a root turn that never ends, or for a ceiling a skill that may not start. */
async function meet(runtime: Runtime, which: LimitName) {
  const session = await runtime.session();
  const isCeiling = which === 'spawns' || which === 'depth';
  return isCeiling ? session.runSkill({ name: 'dig', arguments: 'x' }).result : session.send('go').result;
}

describe.each(LIMITS)('the limit of $which', ({ which, key, toml, limit, header }) => {
  const sources: [name: string, make: (shop: Workshop) => { options?: RuntimeOptions; setBy: string }][] = [
    [
      'of a flag',
      () => ({ options: { limits: { [which]: limit }, limitsSetBy: { [which]: `--${key}` } }, setBy: `--${key}` }),
    ],
    ['of a program', () => ({ options: { limits: { [which]: limit } }, setBy: 'the caller' })],
    [
      'of -e',
      () => ({
        options: { overrides: [`agent.${key}=${unquoted(toml)}`] },
        setBy: `agent.${key}, command line`,
      }),
    ],
    [
      'of the environment',
      () => {
        const name = `REASONIX_AGENT__${key.toUpperCase()}`;
        return { options: { env: { [name]: unquoted(toml) } }, setBy: `agent.${key}, environment variable ${name}` };
      },
    ],
    [
      'of the project',
      (shop) => {
        const file = shop.write('reasonix.toml', `[agent]\n${key} = ${toml}\n`);
        return { setBy: `agent.${key}, project file ${file}, line 2` };
      },
    ],
    [
      'of the user',
      (shop) => {
        const file = join(shop.home, '.reasonix', 'config.toml');
        mkdirSync(join(shop.home, '.reasonix'));
        writeFileSync(file, `[agent]\n${key} = ${toml}\n`);
        return { setBy: `agent.${key}, user file ${file}, line 2` };
      },
    ],
  ];

  test.each(sources)('%s ends the turn and is named', async (_, make) => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
    const { options, setBy } = make(shop);
    const runtime = await open(shop, options);
    const result = await meet(runtime, which);
    const hit = { which, limit, setBy };
    expect(result).toMatchObject({ status: 'limit', limit: hit });
    expect(result.error).toContain(`${which} limit of `);
    expect(result.error).toContain(`(set by ${setBy})`);
    const events = await runtime.store.read(result.session);
    expect(events.at(-1)).toMatchObject({ type: 'turn.ended', status: 'limit', limit: hit });
    await runtime.close();
  });

  test('of a skill ends the child, or keeps it from starting one', async () => {
    const shop = workshop();
    const isCeiling = which === 'spawns' || which === 'depth';
    const name = isCeiling ? 'starter' : 'dig';
    shop.skill('dig', { runAs: 'subagent', ...(isCeiling ? {} : { [header]: unquoted(toml) }) }, 'Dig.');
    const file = shop.skill(
      name,
      { runAs: 'subagent', ...(isCeiling ? { 'max-steps': 2 } : {}), [header]: unquoted(toml) },
      'Work.',
    );
    const runtime = await open(shop);
    const { result } = await runtime.skill(name).run('x');
    const setBy = `${header} of the skill ${name}, ${file}`;
    if (!isCeiling) {
      expect(result).toMatchObject({ status: 'limit', limit: { which, limit, setBy } });
      expect(result.subagents).toMatchObject([
        {
          status: `limit:${which}`,
          limit: { which, setBy },
          reason: expect.stringContaining(setBy),
          cost: expect.any(Number),
        },
      ]);
    } else {
      const log = await runtime.store.read(result.subagents[0]!.ref);
      const [refused] = log.filter(
        (event): event is typeof event & EventOf<'tool.result'> => event.type === 'tool.result',
      );
      // At the end of its depth it is not even offered the tool.
      if (which === 'depth') expect(refused?.content).toContain('run_skill');
      else
        expect(refused).toMatchObject({ limit: { which, limit: 0, setBy }, content: expect.stringContaining(setBy) });
    }
    await runtime.close();
  });
});

describe('defaults', () => {
  const refusals = async (runtime: Runtime, session: string) =>
    (await runtime.store.read(session)).flatMap((event) =>
      event.type === 'tool.result' && event.limit ? [event.limit] : [],
    );

  test('50 steps of a child', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
    const runtime = await open(shop, {}, (request) =>
      request.toolChoice === 'none' ? 'summed up' : { calls: [call('list_files', {})] },
    );
    const { result } = await runtime.skill('dig').run('x');
    expect(result.limit).toEqual({ which: 'steps', limit: 50, setBy: 'agent.child_max_steps, default' });
    await runtime.close();
  });

  test('64 children a turn', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
    const runtime = await open(shop, {}, (request) => {
      if (request.skill || request.messages.at(-1)?.role === 'tool') return 'done';
      return { calls: Array.from({ length: 66 }, () => call('run_skill', { name: 'dig', arguments: 'x' })) };
    });
    const session = await runtime.session();
    const { subagents } = await session.send('go').result;
    expect(subagents).toHaveLength(64);
    const hit = { which: 'spawns', limit: 64, setBy: 'agent.max_spawns, default' };
    expect(await refusals(runtime, session.id)).toEqual([hit, hit]);
    await runtime.close();
  });

  test('three levels, also when a child of the tree is resumed by itself', async () => {
    const shop = workshop();
    shop.skill('deeper', { runAs: 'subagent' }, 'Deeper.');
    const runtime = await open(shop, {}, (request) =>
      request.messages.at(-1)?.role === 'tool'
        ? 'enough'
        : { calls: [call('run_skill', { name: 'deeper', arguments: 'x' })] },
    );
    const session = await runtime.session();
    const { subagents } = await session.send('go').result;
    expect(subagents.map(({ depth }) => depth)).toEqual([1, 2, 3]);
    const second = await runtime.session({ resume: subagents[1]!.ref });
    const again = await second.send('more').result;
    expect(again.subagents.map(({ depth }) => depth)).toEqual([1]);
    await runtime.close();
  });
});

describe('near the end of a token budget', () => {
  const long = 'word '.repeat(2_000);

  test('an answer is no longer than what is left, and the turn sums up', async () => {
    const shop = workshop();
    const seen: (number | undefined)[] = [];
    const runtime = await open(shop, { limits: { tokens: 3_000 } }, (request) => {
      seen.push(request.maxOutputTokens);
      return request.toolChoice === 'none' ? 'in short: words' : long;
    });
    const result = await (await runtime.session({ system: 'Short.' })).send('go').result;
    expect(result).toMatchObject({
      status: 'limit',
      answer: 'in short: words',
      limit: { which: 'tokens', limit: 3_000 },
    });
    expect(seen).toEqual([expect.any(Number), undefined]);
    expect(seen[0]).toBeLessThan(2_500);
    await runtime.close();
  });

  test('with room enough nothing is held', async () => {
    const shop = workshop();
    const seen: (number | undefined)[] = [];
    const runtime = await open(shop, { limits: { tokens: 100_000 } }, (request) => {
      seen.push(request.maxOutputTokens);
      return long;
    });
    const result = await (await runtime.session()).send('go').result;
    expect(result).toMatchObject({ status: 'completed', answer: long });
    expect(seen).toEqual([undefined]);
    await runtime.close();
  });

  test('ten children at once pass it by one step at most, and one more sums up: that of whom the limit is', async () => {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
    const summedUp: (string | undefined)[] = [];
    const runtime = await open(shop, { limits: { tokens: 400 }, maxConcurrent: 10 }, async (request) => {
      if (request.toolChoice === 'none') {
        summedUp.push(request.skill);
        return { text: 'summed up', usage: { input: 0, output: 0 } };
      }
      if (request.skill) return restless(request, undefined as never);
      return {
        calls: Array.from({ length: 10 }, () => call('run_skill', { name: 'dig', arguments: 'x' })),
        usage: { input: 0, output: 0 },
      };
    });
    const { usage, subagents, status } = await (await runtime.session()).send('go').result;
    expect(status).toBe('limit');
    expect(subagents.map((child) => child.status)).toEqual(Array(10).fill('limit:tokens'));
    expect(usage.total.input + usage.total.output).toBeLessThan(400 + 20);
    expect(summedUp).toEqual([undefined]);
    await runtime.close();
  });
});

test.each([
  [{}, { which: 'steps', limit: 2, setBy: 'max-steps of the skill dig' }],
  [{ steps: 4 }, { which: 'steps', limit: 2, setBy: 'max-steps of the skill dig' }],
  [{ steps: 1 }, { which: 'steps', limit: 1, setBy: 'the caller' }],
])('a child that is resumed by itself keeps the limits of its skill, also with %o', async (limits, limit) => {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent', 'max-steps': 2 }, 'Dig.');
  const runtime = await open(shop);
  const { ref } = await runtime.skill('dig').run('x');
  const result = await (await runtime.session({ resume: ref })).send('more', { limits }).result;
  expect(result).toMatchObject({ status: 'limit', steps: limit.limit + 1, limit });
  await runtime.close();
});

test('a child that is resumed by itself has as many levels below it as its skill allows', async () => {
  const shop = workshop();
  shop.skill('starter', { runAs: 'subagent', 'max-depth': 1 }, 'Start.');
  shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
  const runtime = await open(shop, {}, (request) => {
    if (request.messages.at(-1)?.role === 'tool') return 'done';
    return { calls: [call('run_skill', { name: 'dig', arguments: 'x' })] };
  });
  const { ref } = await runtime.skill('starter').run('x');
  const { subagents } = await (await runtime.session({ resume: ref })).send('more').result;
  expect(subagents.map(({ depth }) => depth)).toEqual([1]);
  await runtime.close();
});

describe('what is spent lets no more children in', () => {
  const starts = (input: Record<string, unknown>, count = 1) =>
    Array.from({ length: count }, () => call('run_skill', { name: 'dig', arguments: 'x', ...input }));

  /** What became of the root's calls when a first step, or the first of its children, spends everything. */
  async function spend(calls: ReturnType<typeof starts>, first: number) {
    const shop = workshop();
    shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
    let asked = 0;
    const runtime = await open(shop, { limits: { tokens: 100 }, maxConcurrent: 1 }, (request) => {
      if (request.toolChoice === 'none' && !request.skill) return 'summed up';
      if (!request.skill) return { calls, usage: { input: first, output: 0 } };
      asked++;
      return { text: 'dug', usage: { input: 100, output: 0 } };
    });
    const session = await runtime.session();
    const { status, subagents } = await session.send('go').result;
    const events = await runtime.store.read(session.id);
    await runtime.close();
    const results = events.flatMap((event) => (event.type === 'tool.result' ? [event] : []));
    return { status, asked, children: subagents.length, results };
  }

  test.each([
    ['one after the other', starts({}, 10)],
    ['of a list', starts({ items: ['a', 'b', 'c'] })],
    ['beside the turn', starts({ background: true }, 10)],
  ])('children %s, when the step that asks for them has spent it', async (_, calls) => {
    const { status, asked, children, results } = await spend(calls, 100);
    expect({ status, asked, children }).toEqual({ status: 'limit', asked: 0, children: 0 });
    for (const { content, isError, limit } of results) {
      expect({ isError, limit }).toMatchObject({ isError: true, limit: { which: 'tokens', limit: 100 } });
      expect(content).toContain('tokens limit of 100');
    }
  });

  test.each([
    ['one after the other', starts({}, 10)],
    ['of a list', starts({ items: ['a', 'b', 'c'] })],
    ['beside the turn', starts({ background: true }, 10)],
  ])('children %s, when one before them has spent it while they waited', async (_, calls) => {
    const { status, asked } = await spend(calls, 0);
    expect({ status, asked }).toEqual({ status: 'limit', asked: 1 });
  });
});

test('children beyond the number that may run wait for their turn', async () => {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'Dig.');
  let running = 0;
  let most = 0;
  const runtime = await open(shop, { maxConcurrent: 2 }, async (request) => {
    if (!request.skill) {
      if (request.messages.at(-1)?.role === 'tool') return 'done';
      return { calls: Array.from({ length: 6 }, () => call('run_skill', { name: 'dig', arguments: 'x' })) };
    }
    most = Math.max(most, ++running);
    await delay(10);
    running--;
    return 'dug';
  });
  const { subagents } = await (await runtime.session()).send('go').result;
  expect(subagents).toHaveLength(6);
  expect(most).toBe(2);
  await runtime.close();
});
