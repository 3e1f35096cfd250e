import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { Engine } from '../../src/engines/engine.ts';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import type { RuntimeOptions } from '../../src/runtime/options.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, workshop } from './workshop.ts';

/** Whoever submits, with a store and an engine from which nobody takes anything yet. */
async function submitter(options: RuntimeOptions = {}) {
  const shop = workshop();
  const store = memoryStore();
  const engine: Engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const told: string[] = [];
  const { runtime } = await shop.open(() => 'done', {
    store,
    engine,
    onProblem: (text) => void told.push(text),
    ...options,
  });
  return { shop, store, engine, runtime, told };
}

/** Everything after this is what workers do who come later, and know nothing but the log. */
async function worked({ shop, store }: Pick<Awaited<ReturnType<typeof submitter>>, 'shop' | 'store'>) {
  const engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const { runtime, model } = await shop.open(() => 'done', { store, engine });
  const claim = await runtime.work({ concurrency: 2, reconcileEvery: 50 });
  onTestFinished(() => claim.close(0));
  await delay(500);
  return model.requests.length;
}

it('says once that no worker takes it, and goes on when one does', async () => {
  const { runtime, told } = await submitter({ overrides: ['engine.tag=big'] });
  const session = await runtime.session();
  const run = session.send('go');
  while (told.length === 0) await delay(20);
  expect(told).toEqual([
    `session ${session.id} waits for a worker: all are busy, or there is none; start one with: reasonix worker --tag big`,
  ]);
  await delay(5_500);
  expect(told).toHaveLength(1);
  const claim = await runtime.work({ tags: ['big'] });
  onTestFinished(() => claim.close(0));
  expect((await run.result).answer).toBe('done');
}, 30_000);

it('is cancelled soon when nobody runs it, whether or not the engine answers, and nobody takes it up later', async () => {
  const silent = new Promise<never>(() => {});
  const away: Partial<Engine> = { start: () => silent, cancel: () => silent };
  for (const engine of [undefined, { ...inProcessEngine(), ...away } as Engine]) {
    const parts = await submitter(engine && { engine });
    const stop = new AbortController();
    const run = (await parts.runtime.session()).send('go', { signal: stop.signal });
    await delay(300);
    stop.abort();
    const before = performance.now();
    expect((await run.result).status).toBe('cancelled');
    expect(performance.now() - before).toBeLessThan(2_500);
    expect(await worked(parts)).toBe(0);
  }
}, 30_000);

it('leaves a turn that somebody runs and cannot be told to end, and says so', async () => {
  const silent = new Promise<never>(() => {});
  const engine = Object.assign(inProcessEngine(), { start: () => silent, cancel: () => silent });
  const parts = await submitter({ engine });
  const session = await parts.runtime.session();
  const stop = new AbortController();
  const run = session.send('go', { signal: stop.signal });
  run.result.catch(() => {});
  while ((await parts.store.list({ open: true })).sessions.length === 0) await delay(10);
  await parts.store.claim(session.id, 'a worker', 60_000);
  stop.abort();
  await expect(run.result).rejects.toMatchObject({
    code: 'cancelled',
    message: expect.stringContaining('the worker that runs it has not been told'),
    hint: expect.stringContaining(`reasonix run --resume ${session.id}`),
  });
}, 30_000);

it('ends by itself when its time is up and no worker runs it, and nobody takes it up later', async () => {
  const parts = await submitter();
  const session = await parts.runtime.session();
  const result = await session.send('go', { limits: { time: 200 } }).result;
  expect(result).toMatchObject({ status: 'limit', limit: { which: 'time', limit: 200 } });
  const reason = expect.stringMatching(/^time limit of 0.2 s reached \(set by .+\): no worker ran it at the end$/);
  expect((await parts.store.read(session.id)).at(-1)).toMatchObject({ type: 'turn.ended', status: 'limit', reason });
  expect(await worked(parts)).toBe(0);
}, 30_000);

it('leaves a turn whose time is up with its children, which end when a worker comes', async () => {
  const parts = await submitter();
  parts.shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const session = await parts.runtime.session();
  const worker = await parts.shop.open(() => ({ calls: [call('run_skill', { name: 'dig', arguments: 'gold' })] }), {
    store: parts.store,
    engine: parts.engine,
  });
  const claim = await worker.runtime.work({
    concurrency: 1,
    watch: {
      began:
        () =>
        ({ outcome }) =>
          void (outcome === 'parked' && claim.close(0)),
    },
  });
  const { result } = session.send('go', { limits: { time: 1_500 } });
  expect(await result).toMatchObject({ status: 'limit', limit: { which: 'time' } });
  const { sessions } = await parts.store.list({ open: true });
  expect(sessions).toHaveLength(2);
  expect(await worked(parts)).toBe(0);
  for (const { session: id } of sessions) {
    await expect.poll(async () => (await parts.store.read(id)).at(-1)?.type, { timeout: 10_000 }).toBe('turn.ended');
  }
}, 30_000);

it('stays cancelled when whoever cancelled it is gone before a worker comes', async () => {
  const parts = await submitter();
  const stop = new AbortController();
  const session = await parts.runtime.session();
  void session.send('go', { signal: stop.signal });
  while ((await parts.store.list({ open: true })).sessions.length === 0) await delay(10);
  stop.abort();
  while ((await parts.store.read(session.id)).at(-1)?.type !== 'turn.cancelling') await delay(10);
  expect(await worked(parts)).toBe(0);
  expect((await parts.store.read(session.id)).at(-1)).toMatchObject({ type: 'turn.ended', status: 'cancelled' });
}, 30_000);

it('leaves the end to its children, which are told in their logs as well', async () => {
  const parts = await submitter();
  parts.shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const stop = new AbortController();
  const session = await parts.runtime.session();
  const worker = await parts.shop.open(
    () => ({ calls: ['a', 'b'].map((name) => call('run_skill', { name: 'dig', arguments: name })) }),
    { store: parts.store, engine: parts.engine },
  );
  const claim = await worker.runtime.work({ concurrency: 1 });
  const leaving = parts.runtime.observe(({ session: of }) => {
    if (of !== session.id) void claim.close(0);
  });
  void session.send('go', { signal: stop.signal });
  while ((await parts.store.list({ parent: { session: session.id } })).sessions.length < 2) await delay(5);
  leaving();
  await claim.close(0);
  while ((await parts.store.list({ open: true })).sessions.some(({ holder }) => holder)) await delay(20);
  stop.abort();
  const isTold = async (id: string) => (await parts.store.read(id)).some(({ type }) => type === 'turn.cancelling');
  const { sessions } = await parts.store.list({ open: true });
  for (const { session: id } of sessions) while (!(await isTold(id))) await delay(20);
  expect(sessions.length).toBeGreaterThan(0);
}, 30_000);

it('fails when the session is removed meanwhile', async () => {
  const { runtime, store } = await submitter();
  const session = await runtime.session();
  const run = session.send('go');
  while ((await store.list({ open: true })).sessions.length === 0) await delay(10);
  await store.delete(session.id);
  await expect(run.result).rejects.toMatchObject({ code: 'session_not_found' });
}, 30_000);

it('a worker that looks for sessions again reads only logs that have grown', async () => {
  const { shop, store, runtime } = await submitter();
  const session = await runtime.session();
  const run = session.send('go');
  run.result.catch(() => {});
  while ((await store.list({ open: true })).sessions.length === 0) await delay(10);
  let looks = 0;
  let reads = 0;
  const isKnown = async () => {
    looks++;
    return true;
  };
  const engine: Engine = Object.assign(inProcessEngine(), { isKnown });
  onTestFinished(() => engine.close());
  const read: typeof store.read = (...asked) => {
    reads++;
    return store.read(...asked);
  };
  const counted = new Proxy(store, {
    get: (target, name) => {
      if (name === 'read') return read;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const { runtime: later } = await shop.open(() => 'done', { store: counted, engine });
  const claim = await later.work({ reconcileEvery: 20 });
  onTestFinished(() => claim.close(0));
  const lookMore = async () => {
    for (const enough = looks + 3; looks < enough; ) await delay(10);
  };
  await lookMore();
  expect(reads).toBe(1);
  const from = { session: 'sa_other', call: 'c1' };
  await store.append(session.id, (await store.read(session.id)).length, [
    { type: 'message.received', from, content: 'more' },
  ]);
  await lookMore();
  expect(reads).toBe(2);
});
