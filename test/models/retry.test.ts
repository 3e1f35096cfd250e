import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import { SharedBackoff, sharedBackoff } from '../../src/models/backoff.ts';
import { systemClock } from '../../src/models/clock.ts';
import type { ModelClient, ModelReply } from '../../src/models/contract.ts';
import { retryAfter } from '../../src/models/provider-error.ts';
import { type RetryOptions, withRetry } from '../../src/models/retry.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import type { ScriptedFault } from '../../src/models/scripted-format.ts';
import { FakeClock } from './fake-clock.ts';
import { collect, never, request, user } from './requests.ts';

/** A model with faults on its way, and the retries around it. */
function faulty(faults: ScriptedFault[], options: RetryOptions = {}, random = () => 0.5) {
  const clock = new FakeClock(random);
  const model = scriptedModel([{ text: 'answer', faults }], { clock });
  const seen = collect();
  const client = withRetry(model, { clock, ...options });
  return {
    clock,
    model,
    seen,
    client,
    go: (signal = never) => client.generate(request([user('x')]), { signal, ...seen }),
  };
}

const failing = (thrown: unknown): ModelClient => ({ provider: 'p', generate: () => Promise.reject(thrown) });

describe('withRetry', () => {
  it.each([408, 409, 429, 500, 502, 503, 529])('tries again after %i', async (status) => {
    const { go, model, seen } = faulty([{ status }]);
    expect((await go()).text).toBe('answer');
    expect(model.requests).toHaveLength(2);
    expect(seen.deltas[0]).toMatchObject({
      type: 'retry',
      attempt: 1,
      reason: expect.stringContaining(String(status)),
    });
  });

  it.each([400, 401, 403, 404, 413, 422])('does not after %i', async (status) => {
    const { go, model } = faulty([{ status, times: 'always' }]);
    await expect(go()).rejects.toMatchObject({ details: { status, attempts: 1 } });
    expect(model.requests).toHaveLength(1);
  });

  it('does not wait for money', async () => {
    const { go, model } = faulty([
      { status: 429, message: 'You exceeded your current quota, please check your plan and billing', times: 'always' },
    ]);
    await expect(go()).rejects.toMatchObject({ code: 'provider', hint: expect.stringContaining('credit') });
    expect(model.requests).toHaveLength(1);
  });

  it('tries again after a raw error of the platform', async () => {
    let attempts = 0;
    const client: ModelClient = {
      provider: 'p',
      generate: async () => {
        if (++attempts < 3) throw new TypeError('terminated', { cause: new Error('other side closed') });
        return { text: 'ok' } as ModelReply;
      },
    };
    const reply = await withRetry(client, { clock: new FakeClock() }).generate(request([]), { signal: never });
    expect(reply.text).toBe('ok');
    expect(attempts).toBe(3);
  });

  it('does not repeat a mistake of ours or of a script', async () => {
    for (const mistake of [
      new TypeError("Cannot read properties of undefined (reading 'x')"),
      new RangeError('invalid'),
    ]) {
      const thrown = await withRetry(failing(mistake))
        .generate(request([]), { signal: never })
        .catch((each) => each);
      expect(thrown).toMatchObject({ code: 'provider', details: { retryable: false, attempts: 1 } });
    }
    const model = scriptedModel(() => {
      throw new Error('wrong script');
    });
    const thrown = await withRetry(model)
      .generate(request([]), { signal: never })
      .catch((each) => each);
    expect(thrown).toMatchObject({
      message: "the script's function failed: wrong script",
      details: { retryable: false },
    });
    expect(model.requests).toHaveLength(1);
  });

  it('gives up after six attempts, and keeps the longest partial text', async () => {
    const { go, model } = faulty([{ cut_after: 2 }, { cut_after: 5 }, { cut_after: 1, times: 'always' }]);
    await expect(go()).rejects.toMatchObject({
      code: 'provider',
      message: expect.stringContaining('after 6 attempts'),
      details: { attempts: 6, partialText: 'answe', retryable: true },
    });
    expect(model.requests).toHaveLength(6);
  });

  it('waits with full jitter, within bounds that double', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 5, maxLength: 5 }),
        async (chances) => {
          const left = [...chances];
          const { go, clock } = faulty(
            [{ network: true, times: 'always' }],
            { baseDelay: 100, maxDelay: 500 },
            () => left.shift() ?? 0,
          );
          await go().catch(() => {});
          const bounds = [100, 200, 400, 500, 500];
          expect(clock.sleeps).toEqual(bounds.map((bound, index) => (chances[index] ?? 0) * bound));
        },
      ),
      { numRuns: 20 },
    );
  });

  it('does not use up its attempts at once when it is asked to wait no time', async () => {
    const { go, clock } = faulty(
      [0, 0, 0].map((retry_after) => ({ status: 429, retry_after })),
      {},
      () => 0,
    );
    await go();
    expect(clock.sleeps.slice(0, 3)).toEqual([250, 500, 1000]);
  });

  it('waits at least as long as it was asked to', async () => {
    const { go, clock } = faulty([{ status: 429, retry_after: 20 }], {}, () => 0);
    await go();
    expect(clock.sleeps[0]).toBe(20_000);
  });

  it('does not wait longer than it may', async () => {
    const { go, model } = faulty([{ status: 429, retry_after: 3600 }], { totalTime: 60_000 });
    await expect(go()).rejects.toMatchObject({ message: expect.stringContaining('asked to wait 3600 s') });
    expect(model.requests).toHaveLength(1);
  });

  it('stops at once when it is cancelled while it waits', async () => {
    const controller = new AbortController();
    const model = scriptedModel([{ faults: [{ status: 429, retry_after: 600, times: 'always' }] }]);
    const client = withRetry(model, { clock: systemClock });
    const begun = performance.now();
    const going = client.generate(request([user('x')]), {
      signal: controller.signal,
      onDelta: (delta) => delta.type === 'retry' && setImmediate(() => controller.abort()),
    });
    await expect(going).rejects.toMatchObject({ code: 'cancelled' });
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it('asks nothing after it was cancelled', async () => {
    const { go, model } = faulty([]);
    await expect(go(AbortSignal.abort())).rejects.toMatchObject({ code: 'cancelled' });
    expect(model.requests).toHaveLength(0);
  });

  it('G07 masks what a client that knows nothing of secrets throws', async () => {
    const error = new Error(
      'POST with Authorization: Bearer abcdef0123456789abcdef and sk-ant-api03-AAAAAAAAAAAA failed for topsecretvalue',
    );
    const client = withRetry(failing(error), { clock: new FakeClock(), attempts: 1, secrets: ['topsecretvalue'] });
    const thrown = await client.generate(request([]), { signal: never }).catch((each) => each);
    expect(ReasonixError.isInstance(thrown, 'provider')).toBe(true);
    expect(thrown.message).not.toMatch(/abcdef0123|AAAAAAAA|topsecret/);
  });

  it('refuses to try less than once', () => {
    expect(() => withRetry(failing('x'), { attempts: 0 })).toThrow('attempts must be 1 or more, but it is 0');
  });
});

describe('retryAfter', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  it.each([
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '125', 'retry-after': '9' }, 125],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ])('%j is %s ms', (headers, expected) => {
    expect(retryAfter(new Headers(headers as Record<string, string>), now)).toBe(expected);
  });
});

describe('the shared window', () => {
  /** Calls that start at these times meet a server that refuses the first so many; when did it hear of whom? */
  async function storm(starts: number[], refused: number, seed: number): Promise<number[]> {
    const clock = new FakeClock(mulberry(seed));
    const backoff = new SharedBackoff(clock);
    const started = clock.now();
    const asked: number[] = [];
    const client: ModelClient = {
      provider: 'p',
      generate: async () => {
        asked.push(clock.now() - started);
        const details = { retryable: true, retryAfter: 2000, status: 429 };
        if (asked.length <= refused) throw new ReasonixError('provider_overloaded', 'slow down', { details });
        return { text: 'ok' } as ModelReply;
      },
    };
    const replies = await Promise.all(
      starts.map(async (start) => {
        await clock.sleep(start, never);
        return withRetry(client, { clock, backoff }).generate(request([]), { signal: never });
      }),
    );
    expect(replies.map(({ text }) => text)).toEqual(starts.map(() => 'ok'));
    return asked;
  }

  it('F18 holds back all calls when one is told to wait, and lets them go apart from each other', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const asked = await storm([0, 0, 0, 300, 600, 900, 1900], 3, seed);
      expect(asked).toHaveLength(10);
      const later = asked.slice(3);
      expect(Math.min(...later)).toBeGreaterThanOrEqual(2000);
      expect(new Set(later).size).toBe(later.length);
    }
  });

  it('F18 holds back those who waited when the first to go is refused again', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const asked = await storm([0, 0, 0, 0, 0], 6, seed);
      expect(asked).toHaveLength(11);
      const [sixth = 0, seventh = 0] = asked.slice(5);
      expect(sixth).toBeGreaterThanOrEqual(2000);
      expect(seventh - sixth).toBeGreaterThanOrEqual(2000);
    }
  });

  it('F18 gets every call through a server that refuses each second request, whatever the chances', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = mulberry(seed);
      const clock = new FakeClock(random);
      const backoff = new SharedBackoff(clock);
      let requests = 0;
      const client: ModelClient = {
        provider: 'p',
        generate: async () => {
          const isRefused = ++requests % 2 === 0;
          await clock.sleep(2 + random() * (seed % 2 ? 10 : 60), never);
          const details = { retryable: true, status: 429, retryAfter: 5 };
          if (isRefused) throw new ReasonixError('provider_overloaded', 'slow down', { details });
          return { text: 'ok' } as ModelReply;
        },
      };
      const calls = Array.from({ length: 6 }, async () => {
        for (let turn = 0; turn < 7; turn++) {
          await withRetry(client, { clock, backoff, baseDelay: 20 }).generate(request([]), { signal: never });
          await clock.sleep(random() * 30, never);
        }
      });
      await Promise.all(calls);
      expect(requests).toBeLessThanOrEqual(2.2 * 42);
    }
  });

  it('F18 leaves a call alone that fails for good: the others finish', async () => {
    const clock = new FakeClock(mulberry(3));
    const backoff = new SharedBackoff(clock);
    const model = scriptedModel(
      [{ when: { user: 'bad' }, faults: [{ status: 529, times: 'always' }] }, { text: 'ok' }],
      { clock },
    );
    const results = await Promise.allSettled(
      ['a', 'bad', 'b', 'c'].map((task) =>
        withRetry(model, { clock, backoff }).generate(request([user(task)]), { signal: never }),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  });

  it('makes a new call wait, too', async () => {
    const clock = new FakeClock(() => 0);
    const backoff = new SharedBackoff(clock);
    backoff.close(5_000);
    const { go } = faulty([], { backoff });
    const before = clock.now();
    await go();
    expect(clock.now() - before).toBe(5_000);
  });

  it('is one for each server and key', () => {
    const one = sharedBackoff('openai https://a', 'k1', systemClock);
    expect(sharedBackoff('openai https://a', 'k1', systemClock)).toBe(one);
    expect(sharedBackoff('openai https://a', 'k2', systemClock)).not.toBe(one);
    expect(sharedBackoff('openai https://b', 'k1', systemClock)).not.toBe(one);
  });
});

/** A small seeded generator, so that a failure can be seen again. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
