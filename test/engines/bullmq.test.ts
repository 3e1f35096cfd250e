import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BullmqEngineOptions, bullmqEngine } from '../../src/engines/bullmq.ts';
import type { Job } from '../../src/engines/engine.ts';
import { bundleTs } from '../helpers/bundle-ts.ts';
import { hasRedis, type RedisServer, startRedis } from '../helpers/redis.ts';
import { spawnTs, type TsChild } from '../helpers/spawn-ts.ts';
import { Gate, Recorder } from './recorder.ts';

const PROGRAM = new URL('./worker-program.ts', import.meta.url);
const job = (session: string, root = session): Job => ({ session, root });
const eventually = (assertion: () => unknown, timeout = 30_000) =>
  vi.waitFor(async () => void (await assertion()), { timeout, interval: 20 });

let prefixes = 0;

function open(url: string, options: Partial<BullmqEngineOptions> = {}) {
  const problems: string[] = [];
  const prefix = options.prefix ?? `e${++prefixes}`;
  const engine = bullmqEngine({
    url,
    prefix,
    lockDuration: 1_000,
    stalledInterval: 400,
    onProblem: (text) => problems.push(text),
    ...options,
  });
  onTestFinished(() => engine.close());
  return { engine, prefix, problems };
}

function client(url: string): Redis {
  const redis = new Redis(url);
  onTestFinished(() => redis.disconnect());
  return redis;
}

interface WorkerProcess extends TsChild {
  /** Everything that it said so far. */
  readonly said: string[];
}

const spawnWorker = (url: string, prefix: string, ...args: (string | number)[]): Promise<WorkerProcess> =>
  spawnWorkerWith([], [url, prefix, ...args.map(String)]);

async function spawnWorkerWith(nodeArgs: readonly string[], args: readonly string[]): Promise<WorkerProcess> {
  const child = await spawnTs(PROGRAM, { args, nodeArgs });
  onTestFinished(() => child.kill());
  const said: string[] = [];
  void (async () => {
    for await (const line of child.lines()) said.push(line);
  })();
  await eventually(() => expect(said).toContain('ready'));
  return { ...child, said };
}

/** Node with a clock that is so many milliseconds ahead. */
const clockAhead = (by: number) => [
  '--import',
  `data:text/javascript,${encodeURIComponent(`const now = Date.now; Date.now = () => now() + ${by};`)}`,
];

test('what is no address of a Redis is refused, and the address is not repeated', () => {
  for (const url of ['localhost:6379', 'postgres://me:secret@host/db', '', 'redis']) {
    expect(() => bullmqEngine({ url })).toThrow(/no address of a Redis/);
  }
  expect(() => bullmqEngine({ url: 'http://me:secret@host' })).toThrow(expect.not.stringContaining('secret'));
});

test('without the packages the first use says what to install', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'reasonix-drivers-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bundle = await bundleTs(new URL('../../src/engines/bullmq.ts', import.meta.url), { alone: true });
  copyFileSync(bundle, join(folder, 'engine.mjs'));
  const program = `
    import { bullmqEngine } from './engine.mjs';
    const engine = bullmqEngine({ url: 'redis://127.0.0.1:1' });
    await engine.start({ session: 'a', root: 'a' }).catch(({ code, hint }) => console.log(code, hint));`;
  writeFileSync(join(folder, 'program.mjs'), program);
  const output = execFileSync(process.execPath, ['program.mjs'], { cwd: folder, encoding: 'utf8' });
  expect(output.trim()).toBe('config npm install bullmq ioredis');
});

// Starting a process takes seconds on a machine that is busy.
describe.skipIf(!hasRedis())('BullMQ engine', { timeout: 90_000 }, () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.stop());

  test('a worker whose clock is ahead rings no timer early, and says that it is', async () => {
    const { engine, prefix } = open(server.url);
    const worker = await spawnWorkerWith(clockAhead(600_000), [server.url, prefix]);
    await eventually(() => expect(worker.said).toContainEqual(expect.stringMatching(/clock of this machine is 600 s/)));
    const before = Date.now();
    await engine.park(job('timed'), before + 3_000);
    await eventually(() => expect(worker.said).toContain('begin timed'));
    expect(Date.now() - before).toBeGreaterThan(1_900);
    expect(worker.said.filter((line) => line === 'begin timed')).toHaveLength(1);
  });

  describe('workers that go away', () => {
    test('the sessions of a killed worker run elsewhere, with the wakes that came meanwhile', async () => {
      const { engine, prefix } = open(server.url);
      const doomed = await spawnWorker(server.url, prefix);
      await engine.start(job('hold'));
      await eventually(() => expect(doomed.said).toContain('begin hold'));
      await engine.wake(job('hold'));
      doomed.kill('SIGKILL');
      await doomed.exited;
      await engine.wake(job('hold'));
      expect(await engine.isKnown(job('hold'))).toBe(true);
      const recorder = new Recorder();
      const claim = await engine.claim(recorder.run, { concurrency: 4 });
      const killed = performance.now();
      // The run that died, and one for the wakes.
      await eventually(() => expect(recorder.begun).toEqual(['hold', 'hold']));
      expect(performance.now() - killed).toBeLessThan(5_000);
      await claim.drained();
      expect(await engine.isKnown(job('hold'))).toBe(false);
      await engine.start(job('hold'));
      await eventually(() => expect(recorder.begun).toHaveLength(3));
    });

    test('a paused worker loses its session; when it goes on it harms nobody', async () => {
      const { engine, prefix } = open(server.url);
      const paused = await spawnWorker(server.url, prefix);
      await engine.start(job('hold'));
      await eventually(() => expect(paused.said).toContain('begin hold'));
      paused.kill('SIGSTOP');
      const recorder = new Recorder();
      const claim = await engine.claim(recorder.run, { concurrency: 4 });
      await eventually(() => expect(recorder.begun).toEqual(['hold']));
      await claim.drained();
      paused.kill('SIGCONT');
      paused.write('release');
      await eventually(() => expect(paused.said).toContain('end hold'));
      await engine.start(job('hold'));
      await eventually(() =>
        expect(recorder.runsOf('hold') + paused.said.filter((line) => line === 'begin hold').length).toBe(3),
      );
      paused.write('close');
      expect(await paused.exited).toMatchObject({ code: 0, stderr: '' });
    });

    test('one whose workers die again and again is never given up', async () => {
      const { engine, prefix } = open(server.url);
      await engine.start(job('hold'));
      for (let life = 0; life < 4; life++) {
        const worker = await spawnWorker(server.url, prefix);
        await eventually(() => expect(worker.said).toContain('begin hold'));
        worker.kill('SIGKILL');
        await worker.exited;
      }
      const recorder = new Recorder();
      await engine.claim(recorder.run, { concurrency: 1 });
      await eventually(() => expect(recorder.begun).toEqual(['hold']));
    });

    test('a closed worker hands over, and ends', async () => {
      const { engine, prefix } = open(server.url);
      const worker = await spawnWorker(server.url, prefix, 1);
      await engine.start(job('hold'));
      await eventually(() => expect(worker.said).toContain('begin hold'));
      await engine.start(job('next'));
      worker.write('close');
      worker.write('release');
      expect(await worker.exited).toMatchObject({ code: 0, stderr: '' });
      expect(worker.said).not.toContain('begin next');
      const recorder = new Recorder();
      await engine.claim(recorder.run, { concurrency: 1 });
      await eventually(() => expect(recorder.begun).toEqual(['next']), 1_500);
    });

    test('of three workers of which two are killed, no session is lost', async () => {
      const { engine, prefix } = open(server.url);
      const workers = await Promise.all([1, 2, 3].map(() => spawnWorker(server.url, prefix)));
      const sessions = Array.from({ length: 150 }, (_, index) => `slow${index}`);
      await Promise.all(sessions.map((session, index) => engine.start(job(session, `root${index % 5}`))));
      await delay(150);
      workers[0]!.kill('SIGKILL');
      await delay(150);
      workers[1]!.kill('SIGKILL');
      const ended = () => new Set(workers.flatMap(({ said }) => said.filter((line) => line.startsWith('end '))));
      await eventually(() => expect(ended().size).toBe(150));
      await eventually(async () => expect(await engine.counts()).toEqual({ waiting: 0, active: 0, delayed: 0 }));
    });
  });

  describe('what others do to the queue', () => {
    test('a removed job keeps nobody from starting its session again', async () => {
      const { engine, prefix } = open(server.url);
      await engine.start(job('a'));
      const queue = new Queue('runs', { connection: { url: server.url }, prefix });
      onTestFinished(() => queue.close());
      const [waiting] = await queue.getPrioritized();
      await waiting!.remove();
      expect(await engine.isKnown(job('a'))).toBe(false);
      // The same without the care of the queue: the job is gone, what names it is not.
      await engine.start(job('b'));
      const redis = client(server.url);
      const id = await queue.getDeduplicationJobId('b');
      await redis.del(queue.toKey(id!));
      await redis.zrem(queue.toKey('prioritized'), id!);
      expect(await engine.isKnown(job('b'))).toBe(false);
      await engine.start(job('a'));
      await engine.start(job('b'));
      const recorder = new Recorder();
      await engine.claim(recorder.run, { concurrency: 1 });
      await eventually(() => expect(recorder.begun).toEqual(['a', 'b']));
    });

    test('nothing is left in Redis of sessions that are done but what expires', async () => {
      const { engine, prefix } = open(server.url);
      const recorder = new Recorder();
      const claim = await engine.claim(recorder.run, { concurrency: 20 });
      await Promise.all(Array.from({ length: 300 }, (_, index) => engine.start(job(`s${index}`, `r${index % 3}`))));
      await claim.drained();
      await claim.close();
      const redis = client(server.url);
      const keys = await redis.keys(`${prefix}:*`);
      const bounded = ['runs:meta', 'runs:events', 'runs:id', 'runs:marker', 'runs:pc', 'runs:stalled-check'];
      const rest = keys.filter((key) => !bounded.includes(key.slice(prefix.length + 1)) && !key.includes(':alarms:'));
      expect(rest).toEqual([`${prefix}:sentinel`]);
      expect(await redis.xlen(`${prefix}:runs:events`)).toBeLessThan(400);
    });

    test('a server that may evict keys is told once', async () => {
      const silenced = vi.spyOn(console, 'warn').mockImplementation(() => {});
      onTestFinished(() => silenced.mockRestore());
      const evicting = await startRedis(['maxmemory-policy allkeys-lru']);
      onTestFinished(() => evicting.stop());
      const { engine, problems } = open(evicting.url);
      await engine.claim(async () => 'ended', { concurrency: 1 });
      await eventually(() => expect(problems).toHaveLength(1));
      expect(problems[0]).toMatch(/maxmemory-policy allkeys-lru .*set maxmemory-policy to noeviction/);
      await engine.forgot();
      expect(problems).toHaveLength(1);
    });
  });

  describe('limits over all workers', () => {
    test('no more sessions run at once than the bound, over processes, also after Redis lost it', async () => {
      const own = await startRedis();
      onTestFinished(() => own.stop());
      const { engine, prefix } = open(own.url, { maxRunning: 3 });
      const workers = await Promise.all([1, 2].map(() => spawnWorker(own.url, prefix, 10, 3)));
      const going = () => {
        const lines = workers.flatMap(({ said }) => said);
        return (
          lines.filter((line) => line.startsWith('begin')).length -
          lines.filter((line) => line.startsWith('end')).length
        );
      };
      const meta = client(own.url);
      const bound = () => meta.hget(`${prefix}:runs:meta`, 'concurrency');
      await eventually(async () => expect(await bound()).toBe('3'));
      for (let index = 0; index < 8; index++) await engine.start(job(`hold${index}`));
      await eventually(() => expect(going()).toBe(3));
      await delay(300);
      expect(going()).toBe(3);
      await meta.flushall();
      await eventually(async () => expect(await bound()).toBe('3'));
      for (const worker of workers) worker.write('release');
      await eventually(() => expect(going()).toBe(0));
      await Promise.all(Array.from({ length: 8 }, (_, index) => engine.start(job(`slow${index}`))));
      const ended = () =>
        new Set(workers.flatMap(({ said }) => said.filter((line) => line.startsWith('end slow')))).size;
      await eventually(() => expect(ended()).toBe(8));
    });
  });

  describe('cancel', () => {
    test('reaches a run in another process within moments', async () => {
      const { engine, prefix } = open(server.url);
      const worker = await spawnWorker(server.url, prefix);
      await engine.start(job('hold'));
      await eventually(() => expect(worker.said).toContain('begin hold'));
      const sent = performance.now();
      await engine.cancel(job('hold'), { reason: 'Ctrl-C', upTo: 3 });
      await eventually(() => expect(worker.said).toContain('cancel hold Ctrl-C'));
      expect(performance.now() - sent).toBeLessThan(300);
    });

    test('reaches it when the subscription was cut at that moment', async () => {
      const { engine } = open(server.url);
      const told: string[] = [];
      const gate = new Gate();
      const recorder = new Recorder(async (_job, { onCancel }) => {
        onCancel(({ reason }) => told.push(reason));
        await gate.passed;
        return 'ended';
      });
      const claim = await engine.claim(recorder.run, { concurrency: 1 });
      await engine.start(job('a'));
      await eventually(() => expect(recorder.begun).toHaveLength(1));
      const redis = client(server.url);
      expect(await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub')).toBeGreaterThan(0);
      await engine.cancel(job('a'), { reason: 'stop', upTo: 3 });
      await eventually(() => expect(told).toEqual(['stop']));
      gate.open();
      await claim.drained();
    });
  });

  describe('outages', () => {
    test('Redis killed and started again, empty: what waited is done, new work runs, and it is told once', async () => {
      const own = await startRedis();
      onTestFinished(() => own.stop());
      const { engine, problems } = open(own.url);
      const gate = new Gate();
      const recorder = new Recorder(async ({ session }) => {
        if (session === 'held') await gate.passed;
        return 'ended';
      });
      const claim = await engine.claim(recorder.run, { concurrency: 4 });
      await engine.start(job('held'));
      await eventually(() => expect(recorder.begun).toEqual(['held']));
      await engine.forgot();
      expect(await engine.forgot()).toBe(false);
      await own.kill();
      const started = engine.start(job('during'));
      const lateClaim = engine.claim(recorder.run, { concurrency: 1 });
      await delay(1_500);
      gate.open();
      await own.start();
      await started;
      await lateClaim;
      await eventually(() => expect(recorder.begun).toContain('during'));
      await engine.start(job('after'));
      await eventually(() => expect(recorder.begun).toContain('after'));
      await engine.start(job('held'));
      await eventually(() => expect(recorder.runsOf('held')).toBe(2));
      expect(await engine.forgot()).toBe(true);
      expect(await engine.forgot()).toBe(false);
      await claim.drained();
      expect(problems.filter((text) => text.includes('cannot be reached'))).toHaveLength(1);
      // A run that Redis no longer knew could not be reported as done.
      expect(problems.length).toBeLessThanOrEqual(4);
    });

    test('FLUSHALL in the middle: every session that is started again runs', async () => {
      const own = await startRedis();
      onTestFinished(() => own.stop());
      const { engine } = open(own.url);
      const recorder = new Recorder(async () => {
        await delay(20);
        return 'ended';
      });
      const claim = await engine.claim(recorder.run, { concurrency: 5 });
      const sessions = Array.from({ length: 60 }, (_, index) => `s${index}`);
      await Promise.all(sessions.map((session) => engine.start(job(session, 'r'))));
      await eventually(() => expect(recorder.begun.length).toBeGreaterThan(10));
      const redis = client(own.url);
      await engine.forgot();
      await redis.flushall();
      await eventually(async () => expect(await engine.forgot()).toBe(true));
      const known = await Promise.all(sessions.map((session) => engine.isKnown(job(session))));
      expect(known).not.toContain(true);
      const before = recorder.begun.length;
      await Promise.all(sessions.map((session) => engine.start(job(session, 'r'))));
      await claim.drained();
      expect(new Set(recorder.begun.slice(before))).toEqual(new Set(sessions));
      expect(recorder.doubled.size).toBe(0);
    });

    test('workers in other processes live through both', async () => {
      const own = await startRedis();
      onTestFinished(() => own.stop());
      const { engine, prefix } = open(own.url);
      const worker = await spawnWorker(own.url, prefix);
      await engine.start(job('hold'));
      await eventually(() => expect(worker.said).toContain('begin hold'));
      await own.kill();
      await delay(300);
      await own.start();
      await engine.start(job('one'));
      await eventually(() => expect(worker.said).toContain('end one'));
      worker.write('release');
      await eventually(() => expect(worker.said).toContain('end hold'));
      await client(own.url).flushall();
      await engine.start(job('two'));
      await eventually(() => expect(worker.said).toContain('end two'));
      worker.write('close');
      expect(await worker.exited).toMatchObject({ code: 0, stderr: '' });
    });

    test('closing does not wait for a server that is away', async () => {
      const own = await startRedis();
      onTestFinished(() => own.stop());
      const { engine } = open(own.url);
      const claim = await engine.claim(async () => 'ended', { concurrency: 1 });
      await engine.start(job('a'));
      await claim.drained();
      await own.kill();
      const refused = expect(engine.start(job('b'))).rejects.toMatchObject({ code: 'engine' });
      const began = performance.now();
      await claim.close();
      await engine.close();
      await refused;
      expect(performance.now() - began).toBeLessThan(6_000);
    });
  });
});
