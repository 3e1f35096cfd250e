import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bullmqEngine } from '../../src/engines/bullmq.ts';
import type { ScriptedFunction } from '../../src/models/scripted.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { hasRedis, type RedisServer, startRedis } from '../helpers/redis.ts';
import { workshop } from '../runtime/workshop.ts';
import { eventsOf, serving, upTo } from './serving.ts';

describe.skipIf(!hasRedis())('with an engine', () => {
  let redis: RedisServer;
  let group = 0;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());

  /** A server, and a worker unless there is no script for it. */
  async function apart(script?: ScriptedFunction, tag?: string) {
    const prefix = `t${++group}`;
    const shop = workshop();
    const store = memoryStore();
    const engine = () => {
      const made = bullmqEngine({ url: redis.url, prefix, onProblem: () => {} });
      onTestFinished(() => made.close());
      return made;
    };
    const overrides = [`engine.url=${redis.url}`, `engine.prefix=${prefix}`];
    const never: ScriptedFunction = () => {
      throw new Error('the server asked a model');
    };
    const own = tag === undefined ? overrides : [...overrides, `engine.tag=${tag}`];
    const server = await serving(never, { shop, opened: { store, engine: engine(), overrides: own } });
    if (script) {
      const worker = await shop.open(script, { store, engine: engine(), overrides });
      const work = await worker.runtime.work({ concurrency: 2 });
      onTestFinished(() => work.close(0));
    }
    return { ...server, store };
  }

  it('turns run by workers are followed, cancelled, and go on when the server ends', async () => {
    const { start, until, api, post, served, store } = await apart(({ messages }) => {
      const { content } = messages.at(-1) as { content: string };
      return content === 'slow' ? { text: 'late', latency: 60_000 } : { text: `answer to ${content}`, latency: 300 };
    });
    const first = await start('one');
    const stream = eventsOf(await api(`/sessions/${first}/events`));
    expect((await upTo(stream, 'turn.ended')).at(-1)?.data).toMatchObject({ answer: 'answer to one' });
    await stream.leave();
    const slow = await start('slow');
    expect((await post(`/sessions/${slow}/messages`, { text: 'x' })).status).toBe(409);
    expect((await post(`/sessions/${slow}/cancel`)).status).toBe(202);
    await until(slow, 'cancelled');
    const last = await start('two');
    await served.close(5_000);
    const status = async () => (await store.list({ idPrefix: last })).sessions[0]?.status;
    while ((await status()) === 'open') await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await status()).toBe('completed');
  }, 30_000);

  it('one that somebody else began is cancelled, too', async () => {
    const { runtime, post, until } = await apart(() => ({ text: 'late', latency: 60_000 }));
    const session = await runtime.session();
    const run = session.send('slow');
    await until(session.id, 'running');
    expect((await post(`/sessions/${session.id}/cancel`)).status).toBe(202);
    expect(await run.result).toMatchObject({ status: 'cancelled' });
  }, 30_000);

  it('/queues shows the queues of all tags, and changes nothing', async () => {
    const { start, served } = await apart(undefined, 'gpu');
    const session = await start('waits');
    const authorization = `Bearer ${served.token}`;
    const board = (path: string, init: RequestInit = {}) =>
      fetch(`${served.address}/queues${path}`, { ...init, headers: { authorization } });
    const page = await board('');
    const html = await page.text();
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    const [, base] = /<base href="([^"]+)"/.exec(html) ?? [];
    expect(base).toBe('/queues/');
    for (const [, file] of html.matchAll(/(?:src|href)="(static\/[^"]+\.(?:js|css))"/g)) {
      const response = await board(`/${file}`);
      expect([file, response.status]).toEqual([file, 200]);
      expect((await response.text()).length).toBeGreaterThan(100);
    }
    const { queues } = (await (await board('/api/queues?activeQueue=runs.gpu&page=1')).json()) as {
      queues: { name: string; readOnlyMode: boolean; jobs: { data: { session: string } }[] }[];
    };
    expect(queues.map(({ name }) => name)).toEqual(['alarms', 'runs', 'runs.gpu']);
    expect(queues.every(({ readOnlyMode }) => readOnlyMode)).toBe(true);
    expect(JSON.stringify(queues)).toContain(session);
    for (const path of ['/api/queues/runs.gpu/pause', '/api/queues/pause', '/api/queues/runs.gpu/clean/waiting']) {
      expect([path, (await board(path, { method: 'PUT' })).status]).toEqual([path, 405]);
    }
    expect((await fetch(`${served.address}/queues/api/queues`)).status).toBe(401);
  }, 30_000);

  it('/queues says so when Redis is away', async () => {
    const { served } = await apart();
    await redis.kill();
    try {
      const response = await fetch(`${served.address}/queues`, {
        headers: { authorization: `Bearer ${served.token}` },
      });
      expect([response.status, await response.text()]).toEqual([503, 'Redis does not answer within 5 s\n']);
    } finally {
      await redis.start();
    }
  }, 30_000);
});
