import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { redisRateLimit } from '../../src/engines/redis-rate-limit.ts';
import { openRedisScripts, type RedisScripts } from '../../src/engines/redis-scripts.ts';
import { emptiedRedis } from '../helpers/emptied-redis.ts';
import { hasRedis } from '../helpers/redis.ts';
import { spawnTs } from '../helpers/spawn-ts.ts';

const WINDOW = 1_500;
const never = new AbortController().signal;
const program = new URL('./rate-process.ts', import.meta.url);

/** The most that went within less than the window. */
function busiest(times: readonly number[], window = WINDOW): number {
  return Math.max(0, ...times.map((start) => times.filter((time) => time >= start && time < start + window).length));
}

describe.skipIf(!hasRedis())('a limit of requests a minute over several processes', () => {
  const own = emptiedRedis();

  async function open(options: { window?: number; prefix?: string } = {}) {
    const redis = await openRedisScripts(own.server.url);
    onTestFinished(() => redis.close());
    const problems: string[] = [];
    const limit = redisRateLimit({ redis, window: WINDOW, onProblem: (text) => problems.push(text), ...options });
    const times: number[] = [];
    const go = async (most: number, signal = never) => {
      await limit.acquire('p', most, signal);
      times.push(Date.now());
    };
    return { limit, problems, times, go };
  }

  /** Runs three processes; `meanwhile` is told of each request that goes. */
  async function together(most: number, requests: number, meanwhile: (gone: number) => Promise<void>) {
    const times: number[] = [];
    const problems: string[] = [];
    const args = [own.server.url, most, WINDOW, requests].map(String);
    const children = await Promise.all([1, 2, 3].map(() => spawnTs(program, { args })));
    await Promise.all(children.map((child) => child.line()));
    const runs = children.map(async (child) => {
      child.write('go');
      const own: number[] = [];
      for await (const line of child.lines()) {
        const said = JSON.parse(line) as { at?: number; problem?: string };
        if (said.problem !== undefined) problems.push(said.problem);
        if (said.at === undefined) continue;
        own.push(said.at);
        times.push(said.at);
        await meanwhile(times.length);
      }
      expect(await child.exited).toMatchObject({ code: 0, stderr: '' });
      return own;
    });
    return { all: await Promise.all(runs), times, problems };
  }

  it('lets no more go than one process might, and all take turns', { timeout: 60_000 }, async () => {
    const { all, times, problems } = await together(10, 12, async () => {});
    expect(times).toHaveLength(36);
    expect(busiest(times)).toBeLessThanOrEqual(10);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(6 * WINDOW);
    // Nobody waits while another has all of the first windows.
    const early = [...times].sort((left, right) => left - right).slice(0, 20);
    for (const own of all) expect(own.filter((time) => early.includes(time)).length).toBeGreaterThanOrEqual(3);
    expect(problems).toEqual([]);
  });

  it('is shared fairly among roots, however many calls of one wait in however many processes', {
    timeout: 30_000,
  }, async () => {
    const short = 600;
    const processes = await Promise.all([1, 2, 3].map(() => open({ window: short })));
    const gone: string[] = [];
    const stop = new AbortController();
    const go = async (index: number, root: string) => {
      await processes[index]!.limit.acquire('p', 4, stop.signal, root);
      gone.push(root);
    };
    // So that room comes bit by bit.
    for (let call = 0; call < 4; call++) {
      await go(0, 'before');
      await delay(150);
    }
    gone.length = 0;
    const large = [0, 1, 2].flatMap((index) => Array.from({ length: 10 }, () => go(index, 'large')));
    const small = Array.from({ length: 6 }, () => go(0, 'small'));
    const calls = Promise.allSettled([...large, ...small]);
    await expect.poll(() => gone.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(10);
    stop.abort();
    await calls;
    expect(gone.slice(0, 10).filter((root) => root === 'small').length).toBeGreaterThanOrEqual(3);
  });

  it('lets no more go when everything is flushed in the middle, and says so no more than once', {
    timeout: 60_000,
  }, async () => {
    const { times, problems } = await together(10, 9, async (gone) => {
      if (gone === 15) await own.admin.flushall();
    });
    expect(times).toHaveLength(27);
    expect(busiest(times)).toBeLessThanOrEqual(10);
    // Where the machine was slow, nobody has sent anything for a window, and nothing is lost.
    expect(problems.filter((text) => !text.includes('lost'))).toEqual([]);
    expect(problems.length).toBeLessThanOrEqual(1);
  });

  it('finds out that a newcomer was first after a flush', { timeout: 20_000 }, async () => {
    const old = await open();
    for (let call = 0; call < 4; call++) await old.go(4);
    await own.admin.flushall();
    const newcomer = await open();
    await newcomer.go(4);
    await old.go(4);
    expect(old.problems).toHaveLength(1);
    expect(old.times[4]! - newcomer.times[0]!).toBeGreaterThanOrEqual(WINDOW - 10);
    expect(newcomer.problems).toEqual([]);
  });

  it('keeps to the limit by itself while Redis is away, and together again after that', {
    timeout: 30_000,
  }, async () => {
    const { go, times, problems } = await open();
    for (let call = 0; call < 2; call++) await go(4);
    await own.server.kill();
    for (let call = 0; call < 5; call++) await go(4);
    expect(busiest(times)).toBeLessThanOrEqual(4);
    expect(problems).toEqual([expect.stringContaining('away')]);
    await own.server.start();
    await expect.poll(() => own.admin.status, { timeout: 10_000 }).toBe('ready');
    await delay(2_500);
    for (let call = 0; call < 5; call++) await go(4);
    expect(busiest(times)).toBeLessThanOrEqual(4);
    expect(await own.admin.zcard('reasonix:rate:p')).toBeGreaterThan(1);
    expect(problems.filter((text) => text.includes('away'))).toHaveLength(1);
  });

  it('waits a window when everything was flushed and nobody else knows', { timeout: 20_000 }, async () => {
    const { go, times, problems } = await open();
    for (let call = 0; call < 3; call++) await go(3);
    await own.admin.flushall();
    for (let call = 0; call < 3; call++) await go(3);
    expect(busiest(times)).toBeLessThanOrEqual(3);
    expect(problems).toHaveLength(1);
  });

  it('tells Redis what went while it could not be reached', { timeout: 20_000 }, async () => {
    const redis = await openRedisScripts(own.server.url);
    onTestFinished(() => redis.close());
    let isCut = true;
    const cut: RedisScripts = {
      ...redis,
      run: (...step) => (isCut ? Promise.reject(new Error('no route')) : redis.run(...step)),
    };
    const limit = redisRateLimit({ redis: cut, window: WINDOW });
    const other = await open();
    for (let call = 0; call < 2; call++) await limit.acquire('p', 3, never);
    const start = Date.now();
    isCut = false;
    await limit.acquire('p', 3, never);
    await other.go(3);
    expect(Date.now() - start).toBeGreaterThan(WINDOW - 200);
  });

  it('takes those out that give up, and gives their moment to the next', { timeout: 20_000 }, async () => {
    const { go } = await open();
    await go(1);
    const start = Date.now();
    const stop = new AbortController();
    const waiting = go(1, stop.signal);
    await delay(300);
    expect(await own.admin.zcard('reasonix:rate:p')).toBe(3);
    stop.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    await expect.poll(() => own.admin.zcard('reasonix:rate:p')).toBe(2);
    await go(1);
    expect(Date.now() - start).toBeLessThan(2 * WINDOW);
  });

  it('waits a window at most when the clock of the server was put back', { timeout: 20_000 }, async () => {
    const { go } = await open();
    await go(1);
    const later = Date.now() + 3_600_000;
    for (const member of ['a', 'b']) await own.admin.zadd('reasonix:rate:p', later, member);
    const start = Date.now();
    await go(1);
    expect(Date.now() - start).toBeLessThan(2 * WINDOW);
  });

  it('leaves nothing behind', async () => {
    const { go } = await open();
    await go(5);
    expect(await own.admin.keys('*')).toEqual(['reasonix:rate:p']);
    expect(await own.admin.pttl('reasonix:rate:p')).toBeGreaterThan(WINDOW);
    expect(await own.admin.pttl('reasonix:rate:p')).toBeLessThanOrEqual(4 * (WINDOW + 500));
  });

  it('works without a server at all', async () => {
    const redis = await openRedisScripts('redis://127.0.0.1:1');
    onTestFinished(() => redis.close());
    const problems: string[] = [];
    const limit = redisRateLimit({ redis, onProblem: (text) => problems.push(text) });
    for (let call = 0; call < 3; call++) await limit.acquire('p', 3, never);
    expect(problems).toHaveLength(1);
  });
});
