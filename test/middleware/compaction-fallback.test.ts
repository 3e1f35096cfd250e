import { describe, expect, it } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import type { ModelClient, ModelWindow } from '../../src/models/contract.ts';
import { FallbackClient } from '../../src/models/fallback.ts';
import { FakeClock } from '../models/fake-clock.ts';
import { call, newSession, turn } from '../session/engine-host.ts';
import { compacting, compactionsIn, isSummary, tokensOf } from './compaction-bench.ts';

const LARGE = { contextWindow: 100_000, isWindowKnown: true };

/**
 * A session whose first model is gone from its `gone`th step on; the fallback answers by the script of the
 * bench. `windows` are theirs.
 */
function withFallback(windows: { first: ModelWindow; second: ModelWindow }, gone: number, steps: number) {
  let step = 0;
  const bench = compacting((request) => {
    if (isSummary(request)) return 'SUMMARY';
    return step++ < steps ? { calls: [call('bulky', { size: 2_000, tag: `r${step}` })] } : 'done';
  }, windows.first.contextWindow);
  const asked: string[] = [];
  const client = (name: string, isGone: () => boolean): ModelClient => ({
    provider: name,
    generate: async (request, options) => {
      if (!isSummary(request)) asked.push(name);
      if (isGone()) throw new ReasonixError('provider_auth', `${name} answered 401`);
      return bench.model.generate(request, options);
    },
  });
  const first = client('first', () => step >= gone);
  const second = client('second', () => false);
  const clock = new FakeClock();
  const fallbacks = new FallbackClient(
    'first',
    [
      { name: 'first/m', model: 'm', window: windows.first, client: async () => first },
      { name: 'second/m', model: 'm', window: windows.second, client: async () => second },
    ],
    clock,
  );
  const resolveModel = async () => ({
    client: fallbacks,
    provider: 'first',
    model: 'm',
    ...windows.first,
    price: undefined,
    fallbacks: [{ name: 'second/m', price: undefined, ...windows.second }],
    next: (tokens: number) => fallbacks.next(tokens),
  });
  return { ...bench, host: { ...bench.host, resolveModel }, asked, clock };
}

describe('a session with a fallback model', () => {
  it('is compacted when the first is gone and what it has does not fit the second', async () => {
    const bench = withFallback({ first: LARGE, second: { contextWindow: 8_000, isWindowKnown: true } }, 40, 60);
    const session = await newSession(bench);
    expect(await turn(session, 'the task')).toMatchObject({ status: 'completed', answer: 'done' });
    const events = await bench.store.read(session.id);
    const [first, ...others] = compactionsIn(events);
    expect(first).toMatchObject({ reason: 'overflow' });
    expect(first?.before).toBeGreaterThan(8_000);
    expect(first?.after).toBeLessThan(8_000);
    expect(others.map(({ reason }) => reason)).toEqual(others.map(() => 'window'));
    expect(bench.asked.slice(0, 42)).toEqual([...Array.from({ length: 41 }, () => 'first'), 'second']);
    expect(bench.asked.slice(41).every((name) => name === 'second')).toBe(true);
    const bySecond = bench.model.requests.filter((request) => !isSummary(request)).slice(40);
    expect(bySecond.length).toBe(21);
    for (const request of bySecond) expect(tokensOf(request)).toBeLessThan(8_000);
  });

  it('has the window of the first again when that is back, and is not compacted for it', async () => {
    const bench = withFallback({ first: { contextWindow: 8_000, isWindowKnown: true }, second: LARGE }, 0, 40);
    const session = await newSession(bench);
    expect(await turn(session, 'the task')).toMatchObject({ status: 'completed' });
    // The first rests: 40 results of 2,000 characters are far more than its window, and no trouble to the second.
    expect(compactionsIn(await bench.store.read(session.id))).toEqual([]);
    bench.clock.advance(61_000);
    expect(await turn(session, 'again')).toMatchObject({ status: 'completed' });
    expect(compactionsIn(await bench.store.read(session.id))).toHaveLength(1);
    expect(bench.asked.slice(-2)).toEqual(['first', 'second']);
  });

  it('says which model the conversation does not fit', async () => {
    const bench = withFallback({ first: LARGE, second: { contextWindow: 30, isWindowKnown: true } }, 0, 1);
    const session = await newSession(bench);
    const result = await turn(session, 'x'.repeat(40_000));
    expect(result).toMatchObject({ status: 'failed' });
    expect(result.reason).toContain('context_overflow: the conversation does not fit the window of second/m');
  });

  it('keeps the answer free in a window', async () => {
    const bench = withFallback({ first: { ...LARGE, answerTokens: 92_000 }, second: LARGE }, 1_000, 40);
    const session = await newSession(bench);
    await turn(session, 'the task');
    expect(compactionsIn(await bench.store.read(session.id)).length).toBeGreaterThan(1);
    for (const request of bench.model.requests) expect(tokensOf(request)).toBeLessThan(8_000);
  });
});
