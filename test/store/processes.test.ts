import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../src/core/events.ts';
import type { Lease } from '../../src/store/contract.ts';
import { processOwner } from '../../src/store/owner.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import { spawnTs, type TsChild } from '../helpers/spawn-ts.ts';
import { newLog, user } from './samples.ts';
import { temporaryFolder } from './temporary-folder.ts';

const WRITER = new URL('./writer.ts', import.meta.url);

describe('several processes on one file', { timeout: 60_000 }, () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let children: TsChild[];
  const stores: SqliteStore[] = [];

  beforeEach(() => {
    folder = temporaryFolder();
    children = [];
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.exited));
    for (const store of stores.splice(0)) await store.close();
    folder.remove();
  });

  const open = async () => {
    const onProblem = (text: string) => expect.fail(`unexpected problem: ${text}`);
    const store = await openSqliteStore({ home: folder.path, onProblem });
    stores.push(store);
    return store;
  };
  const writer = async (...args: (string | number)[]) => {
    const child = await spawnTs(WRITER, { args: [folder.path, ...args.map(String)] });
    children.push(child);
    return child;
  };
  const parse = <T>(line: string) => JSON.parse(line) as T;
  const expectWhole = (events: readonly StoredEvent[]) =>
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));

  test('all of them make the file at once and append to sessions of their own', async () => {
    const writers = await Promise.all([1, 2, 3, 4, 5].map(() => writer('many', 4, 15)));
    for (const child of writers) expect(await child.exited).toMatchObject({ code: 0, stderr: '' });
    const store = await open();
    const { sessions } = await store.list({}, { limit: 100 });
    expect(sessions).toHaveLength(20);
    for (const { session } of sessions) {
      const events = await store.read(session);
      expectWhole(events);
      expect(events).toHaveLength(31);
    }
  });

  test('all of them append to one session: every event is there once', async () => {
    const store = await open();
    const { session, first } = newLog();
    await store.append(session, 0, [first]);
    const writers = await Promise.all(['a', 'b', 'c'].map((name) => writer('compete', session, name, 25)));
    for (const child of writers) expect(await child.exited).toMatchObject({ code: 0, stderr: '' });
    const events = await store.read(session);
    expectWhole(events);
    const texts = events.slice(1).map((event) => (event as { content: string }).content);
    for (const name of ['a', 'b', 'c']) {
      const own = texts.filter((text) => text.startsWith(name));
      expect(own).toEqual(Array.from({ length: 25 }, (_, n) => `${name} ${n}`));
    }
    expect(texts).toHaveLength(75);
  });

  test('a writer killed at any moment loses nothing that was acknowledged', async () => {
    const store = await open();
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < 8; round++) {
      const child = await writer('many', 6, 100_000);
      const acknowledgements = 1 + Math.floor(Math.random() * 400);
      let count = 0;
      for await (const line of child.lines()) {
        const { session, seq } = parse<{ session: string; seq: number }>(line);
        acknowledged.set(session, seq);
        if (++count === acknowledgements) child.kill('SIGKILL');
      }
      expect(await child.exited).toMatchObject({ signal: 'SIGKILL' });
    }
    expect(acknowledged.size).toBeGreaterThan(8);
    for (const [session, seq] of acknowledged) {
      const events = await store.read(session);
      expectWhole(events);
      expect(events.length).toBeGreaterThanOrEqual(seq);
      // An append of two events is there whole or not at all.
      expect(events.length % 2).toBe(1);
      const { sessions } = await store.list({ idPrefix: session });
      expect(sessions[0]).toMatchObject({ lastSeq: events.length });
      await store.append(session, events.length, [user('on we go')]);
    }
  });

  test('a holder that was killed is replaced at once, however long its lease', async () => {
    const store = await open();
    const child = await writer('hold', 's_one', 3_600_000);
    const lease = parse<Lease>(await child.line());
    await expect(store.claim('s_one', processOwner())).rejects.toMatchObject({
      code: 'session_busy',
      message: expect.stringContaining(`process ${child.pid} on `),
      details: { holder: lease.owner, pid: child.pid },
    });
    child.kill('SIGKILL');
    await child.exited;
    expect(await store.claim('s_one', processOwner())).toMatchObject({ epoch: lease.epoch + 1 });
  });

  test.skipIf(process.platform === 'win32')(
    'a holder that was stopped past its lease is refused when it wakes',
    async () => {
      const store = await open();
      const { session } = newLog();
      const child = await writer('hold', session, 300);
      const lease = parse<Lease>(await child.line());
      child.write('append');
      expect(parse(await child.line())).toEqual({ seq: 1 });

      child.kill('SIGSTOP');
      const taken = await claimWhenFree(store, session);
      expect(taken.epoch).toBe(lease.epoch + 1);
      await store.append(session, 1, [user('from the new holder')], taken);
      child.write('append');
      child.kill('SIGCONT');

      expect(parse(await child.line())).toMatchObject({ code: 'stale_writer' });
      expect(await store.read(session)).toHaveLength(2);
    },
  );

  test('events of another process are followed', async () => {
    const store = await open();
    const { session } = newLog();
    const child = await writer('hold', session, 60_000);
    await child.line();
    const follower = store.follow(session, 0, AbortSignal.timeout(30_000))[Symbol.asyncIterator]();
    for (let seq = 1; seq <= 3; seq++) {
      const next = follower.next();
      child.write('append');
      await child.line();
      const acknowledgedAt = performance.now();
      expect((await next).value).toMatchObject({ seq });
      expect(performance.now() - acknowledgedAt).toBeLessThan(2_000);
    }
    await follower.return?.();
  });
});

async function claimWhenFree(store: SqliteStore, session: string): Promise<Lease> {
  const owner = processOwner();
  for (let attempt = 0; ; attempt++) {
    try {
      return await store.claim(session, owner);
    } catch (error) {
      if (attempt > 500) throw error;
    }
    await delay(20);
  }
}
