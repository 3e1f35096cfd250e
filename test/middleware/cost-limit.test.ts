import { expect, it } from 'vitest';
import { Budget } from '../../src/core/budget.ts';
import type { ModelClient, ModelRequest, ResolvedModel } from '../../src/models/contract.ts';
import { call, newSession, turn } from '../session/engine-host.ts';
import { compacting, compactionsIn, isSummary } from './compaction-bench.ts';

const PRICE = { input: 1, output: 10 };
const WINDOW = { contextWindow: 12_000, isWindowKnown: true };

/** So many steps with some text, so that a summary has to stand for them. */
function thinking(count: number, summary = 'SUMMARY of what was done.') {
  let step = 0;
  return (request: ModelRequest) => {
    if (isSummary(request)) return summary;
    if (step++ >= count) return 'done';
    return { text: 'Some thoughts about it. '.repeat(20), calls: [call('bulky', { size: 300, tag: `r${step}` })] };
  };
}

/** A bench that sums up with a model of its own, by its client. */
function summing(model: Pick<ResolvedModel, 'price' | 'fallbacks'>, client?: (inner: ModelClient) => ModelClient) {
  const bench = compacting(thinking(120), WINDOW.contextWindow, {
    price: PRICE,
    compactor: {
      model: async () => ({
        client: client?.(bench.model) ?? bench.model,
        provider: 'scripted',
        model: 'other',
        ...WINDOW,
        ...model,
      }),
    },
  });
  return bench;
}

it('sums up by a model only where its price fits what is left', async () => {
  const bench = summing({ price: { input: 1_000, output: 1_000 } });
  const session = await newSession(bench);
  const { status, cost } = await turn(session, 'go', { limits: { cost: 1 } });
  expect(status).toBe('completed');
  expect(cost.own).toBeLessThan(1);
  expect(bench.model.requests.filter(isSummary)).toEqual([]);
  const summed = compactionsIn(await bench.store.read(session.id)).filter(({ replaced }) => replaced > 0);
  expect(summed[0]?.messages.at(-1)?.content).toContain('No summary could be made');
});

it('under a cost limit asks no model whose fallback has no price', async () => {
  const unpriced = [{ name: 'second/m', price: undefined, ...WINDOW }];
  const bySecond = (inner: ModelClient): ModelClient => ({
    provider: 'first',
    generate: async (request, options) => ({ ...(await inner.generate(request, options)), answeredBy: 'second/m' }),
  });
  const bench = summing({ price: PRICE, fallbacks: unpriced }, bySecond);
  const { status, cost } = await turn(await newSession(bench), 'go', { limits: { cost: 5 } });
  expect(status).toBe('completed');
  expect(cost.own).toBeGreaterThan(0);
  expect(bench.model.requests.filter(isSummary)).toEqual([]);

  const unlimited = summing({ price: PRICE, fallbacks: unpriced }, bySecond);
  const free = await turn(await newSession(unlimited), 'go');
  expect(unlimited.model.requests.filter(isSummary).length).toBeGreaterThan(0);
  expect(free.cost.own).toBeUndefined();
});

it('sessions that share what is left do not all sum up with it at once', async () => {
  const whole = new Budget({ cost: 4 }, { setBy: 'the test' });
  const late = (inner: ModelClient): ModelClient => ({
    provider: 'late',
    generate: async (request, options) => {
      await new Promise((done) => setTimeout(done, 200));
      return inner.generate(request, options);
    },
  });
  const benches = Array.from({ length: 8 }, () => summing({ price: { input: 200, output: 10 } }, late));
  const runs = benches.map(async (bench) => {
    const budget = new Budget({}, { parent: whole });
    const session = await newSession(bench);
    await session.run({ origin: 'user', content: 'go' }, { budget, signal: new AbortController().signal });
  });
  await Promise.all(runs);
  expect(benches.flatMap(({ model }) => model.requests.filter(isSummary)).length).toBeGreaterThan(0);
  expect(whole.spent.cost).toBeLessThan(4.1);
});

it('a dear fallback: of sessions that share a limit, one goes on into it', async () => {
  const dear = { input: 10, output: 1_000 };
  const whole = new Budget({ cost: 1 }, { setBy: 'the test' });
  let answers = 0;
  const runs = Array.from({ length: 10 }, async () => {
    const bench = compacting(() => 'A thought. '.repeat(150), 100_000);
    const client: ModelClient = {
      provider: 'first',
      generate: async (request, options) => {
        await new Promise((done) => setTimeout(done, 5));
        answers++;
        return { ...(await bench.model.generate(request, options)), answeredBy: 'second/m' };
      },
    };
    const resolveModel = async (): Promise<ResolvedModel> => ({
      client,
      provider: 'first',
      model: 'm',
      ...WINDOW,
      price: PRICE,
      fallbacks: [{ name: 'second/m', price: dear, ...WINDOW }],
    });
    const session = await newSession({ ...bench, host: { ...bench.host, resolveModel } });
    const budget = new Budget({}, { parent: whole });
    await session.run({ origin: 'user', content: 'go' }, { budget, signal: new AbortController().signal });
  });
  await Promise.all(runs);
  // An answer costs two fifths of the limit: the third passes it.
  expect(answers).toBe(3);
  expect(whole.spent.cost).toBeLessThan(1.5);
});
