import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ReasonixError } from '../../src/core/errors.ts';
import type { StoredEvent } from '../../src/core/events.ts';
import { momentHere } from '../../src/store/contract.ts';
import { processOwner } from '../../src/store/owner.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../src/store/postgres.ts';
import { freePort } from '../helpers/free-port.ts';
import { findProgram, type PostgresServer, postgresPrograms, serverUser, startPostgres } from '../helpers/postgres.ts';
import { newLog, said, user } from './samples.ts';

let server: PostgresServer;
let schemas = 0;

const isInstalled = postgresPrograms() !== undefined;

async function open(options: Partial<PostgresStoreOptions> = {}) {
  const problems: string[] = [];
  const schema = options.schema ?? `t${++schemas}`;
  const store = await openPostgresStore({
    url: server.url,
    pollInterval: 60_000,
    onProblem: (text) => problems.push(text),
    ...options,
    schema,
  });
  onTestFinished(() => store.close());
  return { store, schema, problems };
}

async function rowsOf(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

describe.skipIf(!isInstalled)('postgres store with a real server', () => {
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.stop());

  test('of many that open an empty database at once, one makes the tables', async () => {
    const schema = 'together';
    const stores = await Promise.all(Array.from({ length: 8 }, () => open({ schema, poolSize: 2 })));
    const { session, first } = newLog();
    await stores[0]!.store.append(session, 0, [first]);
    for (const { store } of stores) expect(await store.read(session)).toHaveLength(1);
  });

  test('events and leases go by the clock of the server, whatever that of a machine says', async () => {
    const { store, schema } = await open();
    const { session, first } = newLog();
    const hour = 3_600_000;
    for (const skew of [hour, -hour]) {
      const now = Date.now;
      vi.spyOn(Date, 'now').mockImplementation(() => now() + skew);
      onTestFinished(() => void vi.restoreAllMocks());
      const { store: skewed } = await open({ schema });
      const begun = skew > 0 ? [] : await skewed.read(session);
      const [event] = await skewed.append(session, begun.length, begun.length === 0 ? [first] : [user('hi')]);
      const at = Date.parse(event!.at);
      expect(Math.abs(at - now())).toBeLessThan(60_000);
      expect(Math.abs(momentHere(skewed, at) - Date.now())).toBeLessThan(60_000);
      const lease = await skewed.claim(session, 'skewed', 30_000);
      vi.restoreAllMocks();
      expect(momentHere(store, at)).toBe(at);
      await expect(store.claim(session, 'straight', 30_000)).rejects.toMatchObject({ code: 'session_busy' });
      await skewed.release(lease);
    }
  });

  test('tables of a newer version are left alone', async () => {
    const { schema } = await open();
    await rowsOf(`update ${schema}.version set version = 99`);
    await expect(open({ schema })).rejects.toThrow(/newer version of Reasonix \(schema 99/);
  });

  test('a schema name is never put into a statement unchecked', async () => {
    await expect(open({ schema: 'x; drop table y' })).rejects.toThrow(/is no name of a schema/);
  });

  test('a large event stands beside the log and reads back as it was', async () => {
    const { store, schema } = await open();
    const { session, first } = newLog();
    const large = 'ä'.repeat(100_000);
    const appended = await store.append(session, 0, [first, user('small'), user(large), said('end')]);
    expect(await store.read(session)).toStrictEqual(appended);
    const inLog = await rowsOf(`select seq, data is null as moved from ${schema}.events order by seq`);
    expect(inLog.map(({ moved }) => moved)).toEqual([false, false, true, false]);
    await store.delete(session);
    expect(await rowsOf(`select 1 from ${schema}.large_events`)).toEqual([]);
  });

  test('a restart of the server in the middle loses nothing and doubles nothing', async () => {
    const { store } = await open();
    const { session, first } = newLog();
    const lease = await store.claim(session, processOwner());
    await store.append(session, 0, [first], lease);
    const writing = (async () => {
      for (let seq = 1; seq <= 200; seq++) await store.append(session, seq, [user(`m${seq}`)], lease);
    })();
    await delay(60);
    await server.restart();
    await writing;
    await store.renew(lease);
    const events = await store.read(session);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 201 }, (_, index) => index + 1));
    expect(events.slice(1).map((event) => (event as { content: string }).content)).toEqual(
      Array.from({ length: 200 }, (_, index) => `m${index + 1}`),
    );
  });

  test('an append whose answer was lost counts once', async () => {
    const proxy = await lossyProxy(server.port);
    const url = `postgres://reasonix@127.0.0.1:${proxy.port}/postgres`;
    const { store } = await open({ url, poolSize: 1 });
    const { session, first } = newLog();
    await store.append(session, 0, [first]);
    // Behind what tells others of it, over the one connection.
    await store.read(session);
    proxy.loseNextAnswer();
    const appended = await store.append(session, 1, [user('once'), said('only')]);
    expect(proxy.lost).toBe(1);
    expect(appended.map(({ seq }) => seq)).toEqual([2, 3]);
    expect(await store.read(session)).toStrictEqual([...(await store.read(session)).slice(0, 1), ...appended]);
    await store.append(session, 3, [user('next')]);
  });

  test('a server that stays away is an error that hides the password', async () => {
    const port = await freePort();
    const opening = openPostgresStore({ url: `postgres://me:hunter2@127.0.0.1:${port}/db`, patience: 200 });
    const error: unknown = await opening.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: 'store' });
    const { message, hint } = error as ReasonixError;
    expect(`${message} ${hint}`).toMatch(/cannot be reached.*ECONNREFUSED.*store\.url/s);
    expect(`${message} ${hint}`).not.toContain('hunter2');
  });

  test('an owner whose lease ran out is refused, also in the middle of a change of hands', async () => {
    const { store, schema } = await open();
    const other = await open({ schema });
    const { session, first } = newLog();
    const lease = await store.claim(session, 'far:1:0:a', 1);
    await store.append(session, 0, [first], lease);
    await delay(5);
    // Both at once, many times: whoever appends after the change has lost, and no two appends share a place.
    let seq = 1;
    let holder = { store, lease };
    for (let round = 0; round < 30; round++) {
      const next = round % 2 === 0 ? other.store : store;
      const [appended, taken] = await Promise.allSettled([
        holder.store.append(session, seq, [user(`old ${round}`)], holder.lease),
        next.claim(session, `far:1:0:${round}`, 1),
      ]);
      if (appended.status === 'fulfilled') seq++;
      else expect(appended.reason).toMatchObject({ code: 'stale_writer' });
      await delay(3);
      const now = taken.status === 'fulfilled' ? taken.value : await next.claim(session, `far:1:0:${round}`, 1);
      await expect(holder.store.append(session, seq, [user('stale')], holder.lease)).rejects.toMatchObject({
        code: 'stale_writer',
      });
      holder = { store: next, lease: now };
    }
    expect(await store.read(session)).toHaveLength(seq);
  });

  test('another process is followed by notifications, also over a restart', async () => {
    const { store, schema } = await open();
    const writer = await open({ schema });
    const { session, first } = newLog();
    await writer.store.append(session, 0, [first]);
    const stop = new AbortController();
    const seen: StoredEvent[] = [];
    const sawThree = (async () => {
      for await (const event of store.follow(session, 0, stop.signal)) {
        seen.push(event);
        if (event.seq === 2) await server.restart();
        if (event.seq === 4) stop.abort();
      }
    })();
    for (let seq = 1; seq <= 3; seq++) {
      while (seen.length < seq) await delay(5);
      await writer.store.append(session, seq, [user(`m${seq}`)]);
    }
    await sawThree;
    expect(seen.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  });

  test('appends do not wait for a commit with a notification that is not on the disk yet', async () => {
    const { store } = await open();
    const { session, first } = newLog();
    const slow = new pg.Client({ connectionString: server.url });
    await slow.connect();
    // A standby that nobody is: a commit that waits for it holds its locks.
    const wait = (name: string) => rowsOf(`alter system set synchronous_standby_names = '${name}'`);
    await rowsOf('alter system set synchronous_commit = local');
    await wait('nobody');
    await rowsOf('select pg_reload_conf()');
    await slow.query('set synchronous_commit = on');
    const { pid } = (await slow.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!;
    const committed = slow.query("create table slow (); select pg_notify('slow', '')");
    let outcome = '';
    try {
      const state = `select 1 from pg_stat_activity where pid = ${pid} and wait_event = 'SyncRep'`;
      while ((await rowsOf(state)).length === 0) await delay(10);
      const appended = store.append(session, 0, [first]).then(() => 'appended');
      outcome = await Promise.race([appended, delay(10_000, 'waits')]);
    } finally {
      await wait('');
      await rowsOf('alter system reset synchronous_commit');
      await rowsOf('select pg_reload_conf()');
      await committed;
      await slow.end();
    }
    expect(outcome).toBe('appended');
  });

  const bouncer = findProgram('pgbouncer', ['/usr/sbin', '/usr/bin']);
  test.skipIf(bouncer === undefined)(
    'works through a pooler in transaction mode, and says what does not',
    async () => {
      const port = await startPooler(bouncer ?? '', server.port);
      const url = `postgres://reasonix@127.0.0.1:${port}/postgres`;
      const { store, problems } = await open({ url, pollInterval: 50 });
      const logs = Array.from({ length: 10 }, () => newLog());
      await Promise.all(
        logs.map(async ({ session, first }) => {
          const lease = await store.claim(session, processOwner());
          await store.append(session, 0, [first], lease);
          for (let seq = 1; seq <= 10; seq++) await store.append(session, seq, [user(`m${seq}`)], lease);
          await store.release(lease);
        }),
      );
      const { sessions } = await store.list();
      expect(sessions.map(({ lastSeq }) => lastSeq)).toEqual(Array(10).fill(11));
      const { session } = logs[0]!;
      const stop = new AbortController();
      const seen: number[] = [];
      const following = (async () => {
        for await (const { seq } of store.follow(session, 11, stop.signal)) seen.push(seq);
      })();
      await store.append(session, 11, [user('late')]);
      while (seen.length === 0 || problems.length === 0) await delay(20);
      stop.abort();
      await following;
      expect(seen).toEqual([12]);
      expect(problems).toEqual([expect.stringMatching(/pooler in transaction mode.*store\.listen_url/s)]);
    },
    20_000,
  );
});

/** Passes bytes on both ways; when told to, it drops the connection instead of the next answer. */
async function lossyProxy(target: number) {
  let losing = false;
  const proxy = {
    port: 0,
    lost: 0,
    loseNextAnswer: () => {
      losing = true;
    },
  };
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const upstream = dial(target, '127.0.0.1');
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}));
    client.pipe(upstream);
    upstream.on('data', (data) => {
      // `C` begins a CommandComplete: the statement has been carried out.
      if (losing && data.includes('INSERT') === false && data.includes('SELECT')) {
        losing = false;
        proxy.lost++;
        client.destroy();
        upstream.destroy();
        return;
      }
      client.write(data);
    });
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  proxy.port = (listener.address() as { port: number }).port;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return proxy;
}

async function startPooler(program: string, target: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'reasonix-pooler-'));
  const port = await freePort();
  writeFileSync(join(folder, 'users.txt'), '"reasonix" ""\n');
  writeFileSync(
    join(folder, 'pooler.ini'),
    `[databases]\n* = host=127.0.0.1 port=${target}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = trust\nauth_file = ${folder}/users.txt\npool_mode = transaction\nlogfile = ${folder}/log\n`,
  );
  const user = serverUser();
  const owner = { uid: user.uid ?? process.getuid?.() ?? 0, gid: user.gid ?? process.getgid?.() ?? 0 };
  for (const path of [folder, join(folder, 'users.txt'), join(folder, 'pooler.ini')])
    chownSync(path, owner.uid, owner.gid);
  const pooler: ChildProcess = spawn(program, [join(folder, 'pooler.ini')], { ...user, stdio: 'ignore' });
  onTestFinished(async () => {
    const ended = new Promise((resolve) => pooler.once('exit', resolve));
    pooler.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  for (;;) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = dial(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      onTestFinished(() => void socket.destroy());
    });
    if (isUp) return port;
    if (pooler.exitCode !== null) throw new Error(`pgbouncer ended with ${pooler.exitCode}`);
    await delay(50);
  }
}
