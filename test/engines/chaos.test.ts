import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../helpers/postgres.ts';
import { hasRedis, type RedisServer, startRedis } from '../helpers/redis.ts';
import { spawnTs, type TsChild } from '../helpers/spawn-ts.ts';
import { workshop } from '../runtime/workshop.ts';
import { type Chaos, rightAnswer, script } from './chaos-script.ts';

const PROGRAM = new URL('./chaos-worker.ts', import.meta.url);
/** Trees, and children of one parent; `npm run faults` has 30 and 200. */
const ROOTS = Number(process.env.FAULTS_TREES ?? 5);
const CHILDREN = process.env.FAULTS_TREES === undefined ? 60 : 200;
const WORKERS = 3;

const hasServices = hasRedis() && postgresPrograms() !== undefined;

describe.skipIf(!hasServices)('many machines', () => {
  let redis: RedisServer;
  let postgres: PostgresServer;

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  });
  afterAll(() => Promise.all([redis?.stop(), postgres?.stop()]));

  /** A project with two skills, and the way to start its workers. */
  function project(schema: string, { children = 4, nested = 2, latency = 20, settings = [] as string[] } = {}) {
    const shop = workshop();
    shop.skill('outer', { runAs: 'subagent' }, 'You are outer.');
    shop.skill('inner', { runAs: 'subagent' }, 'You are inner.');
    const records = join(shop.home, 'records');
    mkdirSync(records);
    const chaos: Chaos = {
      cwd: shop.cwd,
      home: shop.home,
      records,
      overrides: [
        `store.url=${postgres.url}`,
        `store.schema=${schema}`,
        'store.pool_size=4',
        `engine.url=${redis.url}`,
        `engine.prefix=${schema}`,
        'engine.lease=2s',
        'engine.concurrency=6',
        'agent.max_spawns=1000',
        ...settings,
      ],
      latency,
      children,
      nested,
    };
    const worker = async (): Promise<TsChild> => {
      const child = await spawnTs(PROGRAM, {
        args: [JSON.stringify(chaos)],
      });
      onTestFinished(() => child.kill());
      return child;
    };
    const lines = (file: string): string[][] => {
      const path = join(records, file);
      return existsSync(path)
        ? readFileSync(path, 'utf8')
            .trim()
            .split('\n')
            .map((line) => line.split(' '))
        : [];
    };
    return { chaos, worker, lines };
  }

  test('every session finishes with the right answer, and nothing finished is done again, whoever is killed', async () => {
    const { chaos, worker, lines } = project('chaos');
    const submitter = await openRuntime({ ...chaos, env: {}, model: script(chaos, () => {}), onProblem: () => {} });
    onTestFinished(() => submitter.close());
    const workers = await Promise.all(Array.from({ length: WORKERS }, worker));
    const runs = Array.from({ length: ROOTS }, async (_, index) => {
      const session = await submitter.session();
      return { name: `r${index}`, result: await session.send(`r${index}`).result };
    });
    let isOver = false;
    const all = Promise.all(runs).finally(() => {
      isOver = true;
    });
    const harm = async () => {
      const client = new Redis(redis.url);
      for (let round = 0; !isOver; round++) {
        // On a slow machine a worker that is killed every second never gets to do anything.
        const enough = lines('appended').length + 10;
        await delay(1_000);
        while (!isOver && lines('appended').length < enough) await delay(50);
        if (isOver) break;
        const index = round % WORKERS;
        const victim = workers[index];
        if (round === 3) await client.flushall();
        if (round === 6) await postgres.restart();
        if (round % 2 === 0) {
          victim?.kill('SIGKILL');
          const next = await worker();
          await next.line();
          workers[index] = next;
        } else {
          victim?.kill('SIGSTOP');
          void delay(2_500).then(() => victim?.kill('SIGCONT'));
        }
      }
      client.disconnect();
    };
    const [done] = await Promise.all([all, harm()]);
    for (const child of workers) child.kill('SIGKILL');

    for (const { name, result } of done) {
      expect([name, result.status, result.answer]).toEqual([name, 'completed', rightAnswer(name, chaos)]);
      expect(result.subagents).toHaveLength(4 + 4 * 2);
    }
    const effects = lines('effects');
    const made = effects.map(([, session, call]) => `${session} ${call}`);
    expect(made).toHaveLength(new Set(made).size);
    const marks = grouped(effects);
    expect(marks.size).toBe(ROOTS * 4 * 2);
    for (const [text, times] of marks) {
      if (times.length === 1) continue;
      // One that was stopped in the middle of a mark makes it when it wakes: after the model was told that the
      // mark was not there, and has made it by another call.
      const events = await submitter.store.read(times[0]?.[1] ?? '');
      const cut = new Set(
        events.flatMap((event) =>
          event.type === 'tool.result' && event.content.startsWith('interrupted') ? [event.call] : [],
        ),
      );
      const whole = times.filter(([, , call = '']) => !cut.has(call));
      expect([text, times, whole.length]).toEqual([text, times, Math.min(1, whole.length)]);
    }
    const appended = lines('appended').map(([session, seq]) => `${session} ${seq}`);
    expect(appended).toHaveLength(new Set(appended).size);

    const asked = grouped(lines('calls'));
    for (const [session, calls] of asked) {
      const events = await submitter.store.read(session);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      const answers = events.filter(({ type }) => type === 'assistant.message');
      for (const [, step = '', at = ''] of calls) {
        const logged = answers[Number(step)];
        // A call made after its answer was in the log is one that was made again.
        if (logged) expect([session, step, Number(at) <= Date.parse(logged.at)]).toEqual([session, step, true]);
      }
    }
  }, 300_000);

  test(`a parent of ${CHILDREN} children holds no place while they run, and no other root waits for them`, async () => {
    const settings = ['engine.concurrency=5', 'agent.max_spawns=200'];
    const { chaos, worker, lines } = project('parked', { children: CHILDREN, nested: 0, latency: 700, settings });
    const submitter = await openRuntime({ ...chaos, env: {}, model: script(chaos, () => {}), onProblem: () => {} });
    onTestFinished(() => submitter.close());
    const { pid } = await worker();
    const large = (await submitter.session()).send('r').result;
    while (lines('calls').length < 30) await delay(100);
    const before = lines('calls').length;
    const small = await submitter.skill('inner').run('small');
    expect(small.answer).toBe('marked small');
    // Its two calls came among the next few, and not after all that were left.
    expect(lines('calls').length - before).toBeLessThan(60);
    const { status, answer, subagents } = await large;
    expect([status, subagents.length]).toEqual(['completed', CHILDREN]);
    expect(answer.split('marked')).toHaveLength(CHILDREN + 1);
    const times = lines('calls').map(([, , at]) => Number(at));
    // Five calls at once all the time: the parent, which has two, has taken none of the places.
    const sameTime = times.map((at) => times.filter((other) => other <= at && other > at - chaos.latency).length);
    expect(Math.max(...sameTime)).toBe(5);
    expect(memoryOf(pid)).toBeLessThan(150);
  }, 300_000);
});

/** Lines by their first word. */
function grouped(lines: string[][]): Map<string, string[][]> {
  const groups = new Map<string, string[][]>();
  for (const line of lines) groups.set(line[0] ?? '', [...(groups.get(line[0] ?? '') ?? []), line]);
  return groups;
}

/** Megabytes that a process had at most. */
const memoryOf = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
