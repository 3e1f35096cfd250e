import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedBackoff } from '../../src/models/backoff.ts';
import type { ModelClient, ModelReply } from '../../src/models/contract.ts';
import { createModels } from '../../src/models/models.ts';
import { localRateLimit, type RateLimit } from '../../src/models/rate-limit.ts';
import { withRetry } from '../../src/models/retry.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { FakeClock } from './fake-clock.ts';
import { never, request, user } from './requests.ts';

const WINDOW = 60_000;

/** The most that went within less than a minute. */
function busiest(times: readonly number[], window = WINDOW): number {
  const sorted = [...times].sort((left, right) => left - right);
  return Math.max(0, ...sorted.map((start) => sorted.filter((time) => time >= start && time < start + window).length));
}

describe('a limit of requests a minute', () => {
  it('lets no more go in any 60 seconds, whenever they come, and no fewer than it may', async () => {
    const run = fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }),
      fc.array(fc.integer({ min: 0, max: 50_000 }), { minLength: 1, maxLength: 40 }),
      async (most, gaps) => {
        const clock = new FakeClock();
        const limit = localRateLimit({ clock });
        const start = clock.now();
        const times: number[] = [];
        const calls: Promise<void>[] = [];
        let idle = 0;
        for (const gap of gaps) {
          await clock.sleep(gap, never);
          idle += gap;
          calls.push(limit.acquire('p', most, never).then(() => void times.push(clock.now())));
        }
        await Promise.all(calls);
        expect(busiest(times)).toBeLessThanOrEqual(most);
        expect(clock.now() - start).toBeLessThanOrEqual(idle + WINDOW * Math.ceil(gaps.length / most));
      },
    );
    await fc.assert(run, { numRuns: 60 });
  });

  it('keeps the order of the callers, and lets those out that give up', async () => {
    const clock = new FakeClock();
    const limit = localRateLimit({ clock });
    const gone: number[] = [];
    const stops = Array.from({ length: 9 }, () => new AbortController());
    const calls = stops.map(({ signal }, index) => limit.acquire('p', 2, signal).then(() => void gone.push(index)));
    stops[2]?.abort(new Error('given up'));
    stops[6]?.abort(new Error('given up'));
    const ends = await Promise.allSettled(calls);
    expect(gone).toEqual([0, 1, 3, 4, 5, 7, 8]);
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual(
      Array(2).fill({ status: 'rejected', reason: new Error('given up') }),
    );
    await expect(limit.acquire('p', 2, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
  });

  it('lets roots take turns, and those of one root go as they came', async () => {
    const clock = new FakeClock();
    const limit = localRateLimit({ clock });
    const gone: string[] = [];
    const go = (name: string, root: string) => limit.acquire('p', 1, never, root).then(() => void gone.push(name));
    const calls = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => go(name, 'a'));
    calls.push(go('b1', 'b'), go('b2', 'b'), go('c1', 'c'));
    await Promise.all(calls);
    expect(gone).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4', 'a5']);
  });

  it('asks in the name of the root that a request names', async () => {
    const roots: (string | undefined)[] = [];
    const limit: RateLimit = { acquire: async (_provider, _most, _signal, root) => void roots.push(root) };
    const client = withRetry(scriptedModel([{ text: 'ok' }]), { rate: { limit, perMinute: 1 } });
    await client.generate(request([user('x')], { root: 's_root' }), { signal: never });
    expect(roots).toEqual(['s_root']);
  });

  it('uses no room for those that have all given up', async () => {
    const clock = new FakeClock();
    const limit = localRateLimit({ clock });
    await limit.acquire('p', 1, never);
    const stop = new AbortController();
    const waiting = limit.acquire('p', 1, stop.signal);
    const later = clock.now() + WINDOW;
    stop.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    await clock.sleep(WINDOW, never);
    await limit.acquire('p', 1, never);
    expect(clock.now()).toBe(later);
  });

  it('is one for each provider, and none at 0', async () => {
    const clock = new FakeClock();
    const limit = localRateLimit({ clock });
    await Promise.all(['a', 'b'].map((provider) => limit.acquire(provider, 1, never)));
    for (let call = 0; call < 20; call++) await limit.acquire('a', 0, never);
    expect(clock.sleeps).toEqual([]);
  });

  it('waits a minute at most when the clock is put back', async () => {
    const clock = new FakeClock();
    const limit = localRateLimit({ clock });
    await limit.acquire('p', 1, never);
    clock.advance(-3_600_000);
    const back = clock.now();
    await limit.acquire('p', 1, never);
    expect(clock.now() - back).toBe(WINDOW);
  });
});

describe('a client with a limit of requests a minute', () => {
  /** A limit that notes who asked, and when others were let go. */
  function noting(clock: FakeClock): {
    limit: RateLimit;
    asked: { provider: string; perMinute: number; at: number }[];
  } {
    const inner = localRateLimit({ clock });
    const asked: { provider: string; perMinute: number; at: number }[] = [];
    const limit: RateLimit = {
      acquire: async (provider, perMinute, signal) => {
        await inner.acquire(provider, perMinute, signal);
        asked.push({ provider, perMinute, at: clock.now() });
      },
    };
    return { limit, asked };
  }

  it('asks for every attempt', async () => {
    const clock = new FakeClock();
    const { limit, asked } = noting(clock);
    const model = scriptedModel([{ text: 'answer', faults: [{ status: 500, times: 2 }] }], { clock });
    const client = withRetry(model, { clock, rate: { limit, perMinute: 5 } });
    await client.generate(request([user('x')]), { signal: never });
    expect(model.requests).toHaveLength(3);
    expect(asked).toHaveLength(3);
  });

  it('asks again when all were told to wait while it waited', async () => {
    const clock = new FakeClock();
    const backoff = new SharedBackoff(clock);
    const sent: number[] = [];
    const asked: number[] = [];
    const limit: RateLimit = {
      acquire: async () => {
        asked.push(clock.now());
        if (asked.length === 1) backoff.close(5_000);
      },
    };
    const model: ModelClient = {
      provider: 'p',
      generate: async () => {
        sent.push(clock.now());
        return { text: 'ok' } as ModelReply;
      },
    };
    const start = clock.now();
    await withRetry(model, { clock, backoff, rate: { limit, perMinute: 5 } }).generate(request([]), { signal: never });
    expect(sent).toEqual([start + 5_000]);
    expect(asked).toEqual([start, start + 5_000]);
  });

  it('does not count the time in line against the time of a call', async () => {
    const limit = localRateLimit({ window: 400 });
    const model = scriptedModel([{ text: 'answer' }]);
    const client = withRetry(model, { deadline: 300, totalTime: 300, rate: { limit, perMinute: 1 } });
    const calls = [1, 2, 3].map(() => client.generate(request([user('x')]), { signal: never }));
    expect((await Promise.all(calls)).map(({ text }) => text)).toEqual(['answer', 'answer', 'answer']);
  });

  it('still gives a call up that takes too long once it went', async () => {
    const limit = localRateLimit({ window: 100 });
    const model = scriptedModel([{ text: '', faults: [{ hang: true }] }]);
    const client = withRetry(model, { deadline: 50, rate: { limit, perMinute: 1 } });
    await limit.acquire(model.provider, 1, never);
    await expect(client.generate(request([user('x')]), { signal: never })).rejects.toThrow('no whole answer');
  });

  it('holds for each configured provider, fallback models included', async () => {
    const clock = new FakeClock();
    const { limit, asked } = noting(clock);
    const cwd = mkdtempSync(join(tmpdir(), 'reasonix-rate-'));
    writeFileSync(join(cwd, 'down.yaml'), 'rules: [{ text: "", faults: [{ status: 503, times: always }] }]\n');
    writeFileSync(join(cwd, 'up.yaml'), 'rules: [{ text: "up" }]\n');
    const scripted = { kind: 'scripted' as const, models: ['m'] };
    const models = createModels({
      cwd,
      providers: [
        { ...scripted, name: 'down', script: 'down.yaml', requests_per_minute: 2 },
        { ...scripted, name: 'up', script: 'up.yaml', requests_per_minute: 1 },
        { ...scripted, name: 'free', script: 'up.yaml' },
      ],
      fallbackModels: ['up/m'],
      retry: { clock, attempts: 5 },
      rateLimit: limit,
    });
    const { client } = await models.resolve('down/m');
    const reply = await client.generate(request([user('x')], { model: 'm' }), { signal: never });
    expect(reply.text).toBe('up');
    await (await models.resolve('free/m')).client.generate(request([user('x')]), { signal: never });
    rmSync(cwd, { recursive: true });
    const of = (name: string) => asked.filter(({ provider }) => provider === name);
    expect(of('down').map(({ perMinute }) => perMinute)).toEqual([2, 2, 2, 2, 2]);
    expect(busiest(of('down').map(({ at }) => at))).toBeLessThanOrEqual(2);
    expect(of('up')).toMatchObject([{ perMinute: 1 }]);
    expect(of('free')).toEqual([]);
  });
});
