import { appendFileSync, cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/core/prompts.ts';
import { built } from '../cli/workplace.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../helpers/postgres.ts';
import { hasRedis, type RedisServer, startRedis } from '../helpers/redis.ts';
import { spawnTs } from '../helpers/spawn-ts.ts';
import { Place } from './run-example.ts';

const EXAMPLE = join(packageRoot, 'examples', 'research');
const COMMAND_LINE = new URL('../cli/program.ts', import.meta.url);

describe.skipIf(!hasRedis() || postgresPrograms() === undefined)('examples/research', () => {
  const place = new Place();
  let redis: RedisServer;
  let postgres: PostgresServer;

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis(), startPostgres(), built()]);
  });
  afterAll(async () => {
    place.remove();
    await Promise.all([redis?.stop(), postgres?.stop()]);
  });

  /** A run of the example's program, unchanged, on a copy of its files. */
  async function run(name: string, settings: string) {
    const folder = join(place.path, name);
    cpSync(EXAMPLE, folder, { recursive: true, filter: (path) => path !== join(EXAMPLE, 'out') });
    appendFileSync(join(folder, 'scripted.toml'), settings);
    const worker = settings === '' ? undefined : await startWorker(folder);
    const { code, stdout, stderr } = await place.node([join(EXAMPLE, 'main.js'), folder]);
    expect([code, stderr]).toEqual([0, '']);
    worker?.kill('SIGTERM');
    return {
      // References are of this run alone, and children end in any order.
      report: readFileSync(join(folder, 'out', 'report.md'), 'utf8').replace(/sa_\w+/g, 'sa_'),
      ends: [...stdout.matchAll(/^ {2}sa_\w+ {2}(\w+ {2}\w+, .*)$/gm)].map(([, end]) => end).sort(),
      answer: stdout.split('\n').find((line) => line.includes('report')),
      workerExit: await worker?.exited,
    };
  }

  async function startWorker(folder: string) {
    const worker = await spawnTs(COMMAND_LINE, {
      args: ['worker', '--config', join(folder, 'scripted.toml'), '--cwd', folder],
      env: { HOME: place.path, USERPROFILE: place.path, REASONIX_HOME: undefined },
    });
    onTestFinished(() => worker.kill());
    return worker;
  }

  test('runs the same on one machine and on many, by two lines of configuration', async () => {
    // Names of one length: paths are part of what a model is sent, and are counted.
    const { workerExit: _none, ...embedded } = await run('alone', '');
    const settings = `\n[store]\nurl = "${postgres.url}"\n[engine]\nurl = "${redis.url}"\n`;
    const { workerExit, ...distributed } = await run('group', settings);
    expect(distributed).toEqual(embedded);
    expect(embedded.ends).toHaveLength(4);
    expect(workerExit?.code).toBe(0);
    expect(workerExit?.stderr.match(/sa_/g)?.length).toBeGreaterThan(4);
  }, 120_000);
});
