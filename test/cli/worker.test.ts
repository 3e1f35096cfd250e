import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../helpers/free-port.ts';
import { otherNetwork } from '../helpers/other-network.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../helpers/postgres.ts';
import { hasRedis, type RedisServer, startRedis } from '../helpers/redis.ts';
import { Machine } from './machine.ts';

const isPossible = hasRedis() && postgresPrograms() !== undefined;

/** Machines whose model answers: the submitter's never does. */
const SCRIPT = `
rules:
  - name: child
    when: { kind: child }
    text: "dug {{user}}"
    latency: 100
  - name: delegate
    when: { user: delegate, turn_step: 1 }
    calls:
      - { name: run_skill, arguments: { name: dig, arguments: gold } }
      - { name: run_skill, arguments: { name: dig, arguments: silver } }
  - name: slow
    when: { user: slow }
    text: "late"
    latency: 60000
  - name: busy
    when: { user: busy, turn_step: 1 }
    calls: [{ name: shell, arguments: { command: "echo >> begun.txt; sleep 20" } }]
  - name: first of three
    when: { user: three, turn_step: 1 }
    latency: 2500
    calls: [{ name: list_files, arguments: { path: "." } }]
  - name: second of three
    when: { user: three, turn_step: 2 }
    latency: 700
    calls: [{ name: list_files, arguments: { path: "." } }]
  - name: answer
    text: "answer to {{user}}"
    latency: 50
`;
const SILENT = 'rules:\n  - name: never\n    faults: { hang: true }\n';

describe.skipIf(!isPossible)('reasonix worker', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let machines: Machine[] = [];
  let group = 0;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  }, 60_000);
  afterAll(async () => {
    await redis?.stop();
    await postgres?.stop();
  });
  beforeEach(() => {
    group++;
  });
  afterEach(() => {
    for (const machine of machines) machine.remove();
    machines = [];
  });

  const machine = (script: string) => {
    const made = new Machine({ postgres: postgres.url, redis: redis.url, script, group: `t${group}` });
    machines.push(made);
    return made;
  };

  test('runs what another process submits; answer and report are those of an embedded run', async () => {
    const [a, b] = [machine(SILENT), machine(SCRIPT)];
    a.write('.reasonix/skills/dig/SKILL.md', '---\nname: dig\ndescription: Digs.\nrunAs: subagent\n---\nYou dig.\n');
    b.write('.reasonix/skills/dig/SKILL.md', '---\nname: dig\ndescription: Digs.\nrunAs: subagent\n---\nYou dig.\n');
    const worker = await b.start(['worker', '--name', 'w1', '--concurrency', '2']);
    expect(await a.run(['run', 'hello'])).toMatchObject({ code: 0, stdout: 'answer to hello\n' });
    const far = JSON.parse((await a.run(['run', 'delegate', '--output', 'json'])).stdout);
    const near = JSON.parse((await b.run(['run', 'delegate', '--output', 'json', '--config', 'alone.toml'])).stdout);
    expect(far).toMatchObject({ status: 'completed', answer: 'answer to delegate', steps: 2 });
    expect(far.subagents.map(({ status }: { status: string }) => status)).toEqual(['completed', 'completed']);
    expect(shapeOf(far)).toEqual(shapeOf(near));
    worker.child.kill('SIGTERM');
    const { code, stdout, stderr } = await worker.ended;
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toMatch(
      /^w1: serves redis:\/\/127.0.0.1:\d+ with postgres:\/\/\*\*\*@127.0.0.1:\d+\/postgres · 2 sess/,
    );
    expect(stderr).toMatch(new RegExp(`^w1: took ${far.session}$`, 'm'));
    expect(stderr).toMatch(new RegExp(`^w1: parked ${far.session} after `, 'm'));
    expect(stderr).toMatch(new RegExp(`^w1: ended \\(completed\\) ${far.session} after `, 'm'));
    expect(stderr).not.toContain('warning');
  }, 90_000);

  test('Ctrl-C where it was submitted cancels it on the worker', async () => {
    const [a, b] = [machine(SILENT), machine(SCRIPT)];
    const worker = await b.start(['worker', '--name', 'w']);
    const run = await a.start(['run', 'slow']);
    await worker.said(/took /);
    await delay(300);
    const before = Date.now();
    run.child.kill('SIGINT');
    await worker.said(/ended \(cancelled\)/);
    expect(Date.now() - before).toBeLessThan(3_000);
    expect((await run.ended).code).toBe(130);
  }, 60_000);

  test('a machine with a network of its own submits, follows and cancels', async (context) => {
    const network = otherNetwork();
    if (typeof network === 'string') return context.skip(network);
    try {
      const a = new Machine({
        postgres: await network.reach(postgres.url),
        redis: await network.reach(redis.url),
        script: SILENT,
        group: `t${group}`,
        prefix: network.prefix,
      });
      machines.push(a);
      const worker = await machine(SCRIPT).start(['worker', '--name', 'w']);
      expect(await a.run(['run', 'hello'])).toMatchObject({ code: 0, stdout: 'answer to hello\n' });
      const run = await a.start(['run', 'slow']);
      const [, session] = await run.said(/^session (s_\w+)$/m);
      await worker.said(new RegExp(`took ${session}`));
      await delay(300);
      const before = Date.now();
      run.child.kill('SIGINT');
      await worker.said(/ended \(cancelled\)/);
      // Within a second where nothing else runs.
      expect(Date.now() - before).toBeLessThan(3_000);
      expect((await run.ended).code).toBe(130);
    } finally {
      await network.remove();
    }
  }, 90_000);

  test('nobody removes what a worker will go on with, unless told so', async () => {
    const a = machine(SILENT);
    const run = await a.start(['run', 'hello']);
    const [, session = ''] = await run.said(/session (s_\w+)/);
    await waitFor(postgres, `select count(*)::int as n from t${group}.sessions where status = 'open'`, 1);
    for (const command of [['list'], ['show', session], ['tree', session]]) {
      const { stdout } = await a.run(['session', ...command, '--json']);
      const { sessions = [JSON.parse(stdout)] } = JSON.parse(stdout);
      expect(sessions).toMatchObject([{ session, status: 'queued' }]);
    }
    const refused = await a.run(['session', 'rm', session, '--yes']);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('workers go on with it') });
    expect(await a.run(['session', 'rm', session, '--yes', '--interrupted'])).toMatchObject({ code: 0 });
    expect(await run.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('was removed') });
  }, 60_000);

  test('--once runs what waits and what that wakes, quietly, and ends', async () => {
    const [a, b] = [machine(SILENT), machine(SCRIPT)];
    a.write('.reasonix/skills/dig/SKILL.md', '---\nname: dig\ndescription: Digs.\nrunAs: subagent\n---\nYou dig.\n');
    const runs = await Promise.all([a.start(['run', 'delegate']), a.start(['run', 'hello'])]);
    await waitFor(postgres, `select count(*)::int as n from t${group}.sessions where status = 'open'`, 2);
    const once = await b.run(['worker', '--once', '--quiet', '--name', 'w']);
    expect(once).toMatchObject({ code: 0, stdout: '' });
    expect(once.stderr.split('\n')).toHaveLength(2);
    const ended = await Promise.all(runs.map((run) => run.ended));
    expect(ended.map(({ stdout }) => stdout)).toEqual(['answer to delegate\n', 'answer to hello\n']);
    expect(await b.run(['worker', '--once', '-q'])).toMatchObject({ code: 0 });
  }, 60_000);

  test('a worker that is told to end finishes its step and hands the turn over', async () => {
    const [a, b, c] = [machine(SILENT), machine(SCRIPT), machine(SCRIPT)];
    const first = await b.start(['worker', '--name', 'first']);
    await first.said(/serves/);
    const run = await a.start(['run', 'three', '--output', 'json']);
    await first.said(/took /);
    first.child.kill('SIGTERM');
    const { code, stderr } = await first.ended;
    const second = await c.start(['worker', '--name', 'second']);
    expect(stderr).toContain('first: SIGTERM: ends 1 step, at most 30s');
    expect(stderr).toMatch(/first: parked /);
    expect(code).toBe(0);
    const { stdout } = await run.ended;
    // Three answers of the model, none asked for twice.
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', answer: 'answer to three', steps: 3 });
    expect(second.stderr()).toMatch(/second: ended \(completed\)/);
  }, 60_000);

  test('a second signal, or the end of the grace, ends it at once', async () => {
    const [a, b] = [machine(SILENT), machine(SCRIPT)];
    const run = await a.start(['run', 'busy', '--yes']);
    const begun = async (times: number) => {
      const file = join(a.project, 'begun.txt');
      while (!existsSync(file) || readFileSync(file, 'utf8').length < times) await delay(20);
    };
    const patient = await b.start(['worker', '--name', 'patient']);
    await begun(1);
    patient.child.kill('SIGTERM');
    await patient.said(/SIGTERM/);
    patient.child.kill('SIGTERM');
    expect(await patient.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('ends at once') });
    const other = await a.start(['run', 'busy', '--yes']);
    const hasty = await b.start(['worker', '--grace', '0.2', '--name', 'hasty']);
    await begun(2);
    hasty.child.kill('SIGINT');
    const { code, stderr } = await hasty.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('1 step did not end in time')]);
    for (const { child } of [run, other]) child.kill();
  }, 60_000);

  test('tells how it is: health, readiness without Redis, metrics', async () => {
    const [a, b] = [machine(SILENT), machine(SCRIPT)];
    const port = await freePort();
    const worker = await b.start(['worker', '--health-port', String(port), '--name', 'w"1']);
    await worker.said(/health on http:\/\/127.0.0.1/);
    const get = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: response.status, text: await response.text() };
    };
    expect(await get('/healthz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await get('/readyz')).toEqual({ status: 200, text: 'ready\n' });
    expect((await get('/')).status).toBe(404);
    expect((await a.run(['run', 'hello'])).code).toBe(0);
    const { text } = await get('/metrics');
    const samples = parsed(text);
    expect(samples.get('reasonix_worker_info{name="w\\"1",version="0.1.0"}')).toBe(1);
    expect(samples.get('reasonix_model_calls_total')).toBe(1);
    expect(samples.get('reasonix_turns_total{status="completed"}')).toBe(1);
    expect(samples.get('reasonix_runs_total{outcome="ended"}')).toBeGreaterThan(0);
    expect(samples.get('reasonix_run_seconds_count')).toBe(samples.get('reasonix_run_seconds_bucket{le="+Inf"}'));
    expect(samples.get('reasonix_tokens_total{kind="input"}')).toBeGreaterThan(0);
    expect(samples.get('reasonix_jobs{state="waiting"}')).toBe(0);
    expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(text).not.toMatch(/s_[a-z0-9]{10}/);

    await redis.kill();
    const away = await get('/readyz');
    expect(away).toEqual({ status: 503, text: 'Redis: no answer within 2 s\n' });
    expect(parsed((await get('/metrics')).text).get('reasonix_up{service="engine"}')).toBe(0);
    expect((await get('/healthz')).status).toBe(200);
    await redis.start();
    while ((await get('/readyz')).status !== 200) await delay(100);
    expect(await a.run(['run', 'again'])).toMatchObject({ code: 0, stdout: 'answer to again\n' });
    expect(worker.stderr().match(/cannot be reached/g)).toHaveLength(1);
    worker.child.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  }, 60_000);

  test('goes on over a restart of Postgres', async () => {
    const [a, b] = [machine(SILENT), machine(SCRIPT)];
    const worker = await b.start(['worker', '--name', 'w']);
    const run = await a.start(['run', 'three']);
    await worker.said(/took /);
    await postgres.restart();
    expect(await run.ended).toMatchObject({ code: 0, stdout: 'answer to three\n' });
    expect(worker.child.process.exitCode).toBeNull();
  }, 60_000);

  test('leaves a session to a newer version when it does not know all of its events', async () => {
    const [a, b] = [machine(SILENT), machine(SCRIPT)];
    const run = await a.start(['run', 'hello']);
    await waitFor(postgres, `select count(*)::int as n from t${group}.sessions where status = 'open'`, 1);
    await query(
      postgres,
      `with head as (update t${group}.sessions set last_seq = last_seq + 1 returning session, last_seq)
       insert into t${group}.events (session, seq, at, type, data)
       select session, last_seq, '2026-01-01T00:00:00.000Z', 'plan.made', '{"type":"plan.made"}' from head`,
    );
    const worker = await b.start(['worker', '--name', 'old']);
    const [line] = await worker.said(/warning: event 3 of session .*/);
    expect(line).toMatch(/"plan.made", which this version does not know.*update this one/);
    await worker.said(/unfit .*unfit /s);
    expect(worker.stderr().match(/warning/g)).toHaveLength(1);
    // Two of them would take it from each other, and each could find nothing to wait for.
    worker.child.kill('SIGTERM');
    await worker.ended;
    const once = await b.run(['worker', '--once', '--name', 'once', '-q']);
    expect(once.code).toBe(1);
    expect(once.stderr).toContain('once: 1 session cannot be run: s_');
    // The newer version that takes it.
    await query(postgres, `delete from t${group}.events where type = 'plan.made'`);
    await query(postgres, `update t${group}.sessions set last_seq = last_seq - 1`);
    await b.start(['worker', '--name', 'new', '-q']);
    expect(await run.ended).toMatchObject({ code: 0, stdout: 'answer to hello\n' });
  }, 60_000);

  test('says what is missing', async () => {
    const b = machine(SCRIPT);
    const without = await b.run(['worker', '--config', 'alone.toml']);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('engine.url is not set') });
    const local = await b.run(['worker', '--config', 'only-engine.toml']);
    expect(local).toMatchObject({ code: 2, stderr: expect.stringContaining('store.url is not set') });
    const nowhere = await b.run(['worker', '--workspace', '/nowhere/at/all']);
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('is no folder') });
    const taken = await b.run(['worker', '--health-port', String(postgres.port)]);
    expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining('EADDRINUSE') });
  }, 60_000);
});

/** The same for two reports of the same shape, whatever ids and figures they have. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]));
}

/** The samples of a scrape; every line must be one, or a comment. */
function parsed(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.trimEnd().split('\n')) {
    if (/^# (HELP|TYPE) [a-z_]+ \S/.test(line)) continue;
    const match = /^([a-z_]+(?:\{[a-z_]+="(?:[^"\\]|\\.)*"(?:,[a-z_]+="(?:[^"\\]|\\.)*")*\})?) (\S+)$/.exec(line);
    if (!match || Number.isNaN(Number(match[2]))) throw new Error(`no sample: ${line}`);
    samples.set(match[1]!, Number(match[2]));
  }
  return samples;
}

async function query(postgres: PostgresServer, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function waitFor(postgres: PostgresServer, sql: string, n: number): Promise<void> {
  for (;;) {
    const rows = await query(postgres, sql).catch(() => []);
    if (rows[0]?.n === n) return;
    await delay(50);
  }
}
