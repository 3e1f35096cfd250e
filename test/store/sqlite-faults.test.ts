import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../src/core/events.ts';
import { type Database, sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite.ts';
import { ended, newLog, said, user } from './samples.ts';
import { temporaryFolder } from './temporary-folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
let problems: string[];
const opened: { close(): unknown }[] = [];

beforeEach(() => {
  folder = temporaryFolder();
  problems = [];
});
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  folder.remove();
});

const file = () => join(folder.path, 'sessions.db');

async function open(options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  const store = await openSqliteStore({ home: folder.path, onProblem: (text) => problems.push(text), ...options });
  opened.push(store);
  return store;
}

/** Another connection to the same file, past the store. */
async function raw(): Promise<Database> {
  const db = (await sqliteDriver()).open(file());
  opened.push({
    close: () => {
      try {
        db.close();
      } catch {
        // The test has closed it.
      }
    },
  });
  return db;
}

async function fill(
  store: SqliteStore,
  sessions: number,
  messages: number,
  text = 'text',
): Promise<Map<string, StoredEvent[]>> {
  const logs = new Map<string, StoredEvent[]>();
  await Promise.all(
    Array.from({ length: sessions }, async () => {
      const { session, first } = newLog();
      const texts = Array.from({ length: messages }, (_, n) => user(`${text} ${n}`));
      logs.set(session, await store.append(session, 0, [first, ...texts]));
    }),
  );
  return logs;
}

describe.skipIf(process.platform === 'win32')('files', () => {
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

  test('are private, and so is the folder', async () => {
    const home = join(folder.path, 'deep', 'home');
    const store = await open({ home });
    await fill(store, 1, 1);
    for (const suffix of ['', '-wal', '-shm']) expect(mode(join(home, `sessions.db${suffix}`))).toBe('600');
    expect(mode(home)).toBe('700');
    expect(mode(join(folder.path, 'deep'))).toBe('700');
  });

  test('that were open to others are closed to them', async () => {
    const home = join(folder.path, 'home');
    mkdirSync(home, { mode: 0o755 });
    writeFileSync(join(home, 'sessions.db'), '', { mode: 0o644 });
    await open({ home });
    expect(mode(home)).toBe('700');
    expect(mode(join(home, 'sessions.db'))).toBe('600');
  });

  test('a file elsewhere leaves its folder as it is', async () => {
    const other = join(folder.path, 'shared');
    mkdirSync(other, { mode: 0o755 });
    await open({ path: join(other, 'my.db') });
    expect(mode(other)).toBe('755');
    expect(mode(join(other, 'my.db'))).toBe('600');
  });
});

describe('a place that cannot be used', () => {
  test('is named, with a way out', async () => {
    const blocked = join(folder.path, 'file');
    writeFileSync(blocked, '');
    const refused = openSqliteStore({ home: join(blocked, 'home') });
    await expect(refused).rejects.toMatchObject({ code: 'store', hint: expect.stringContaining('REASONIX_HOME') });
    await expect(refused).rejects.toThrow(join(blocked, 'home', 'sessions.db'));
    mkdirSync(file());
    await expect(openSqliteStore({ home: folder.path })).rejects.toMatchObject({ code: 'store' });
  });

  test.skipIf(process.getuid?.() === 0 || process.platform === 'win32')('because of its permissions', async () => {
    const home = join(folder.path, 'home');
    mkdirSync(home, { mode: 0o500 });
    await expect(openSqliteStore({ home: join(home, 'below') })).rejects.toMatchObject({ code: 'store' });
  });

  test('a database of another program is left alone', async () => {
    const db = await raw();
    db.exec('create table theirs (x)');
    db.close();
    const before = readFileSync(file());
    await expect(open()).rejects.toThrow(/another program/);
    expect(readFileSync(file()).equals(before)).toBe(true);
    expect(problems).toEqual([]);
  });

  test('a database of a newer version is left alone', async () => {
    await (await open()).close();
    const db = await raw();
    db.exec('pragma user_version = 99');
    db.close();
    await expect(open()).rejects.toThrow(/newer version.*schema 99/);
  });
});

describe('a lock that another process keeps', () => {
  test('is waited for without blocking this process, and reading goes on', async () => {
    const store = await open();
    const [[session, events] = ['', []]] = await fill(store, 1, 3);
    const other = await raw();
    other.exec('begin immediate');
    let settled = false;
    const appending = store.append(session, 4, [user('waits')]).finally(() => {
      settled = true;
    });
    for (let tick = 0; tick < 10; tick++) await delay(10);
    expect(settled).toBe(false);
    expect(await store.read(session)).toEqual(events);
    other.exec('rollback');
    expect((await appending)[0]?.seq).toBe(5);
  });

  test('ends in session_busy after the time-out, and the store goes on afterwards', async () => {
    const store = await open({ busyTimeout: 200 });
    const [[session] = ['']] = await fill(store, 1, 1);
    const other = await raw();
    other.exec('begin immediate');
    const start = performance.now();
    await expect(store.append(session, 2, [user('x')])).rejects.toMatchObject({
      code: 'session_busy',
      message: expect.stringContaining('locked by another process'),
    });
    expect(performance.now() - start).toBeGreaterThanOrEqual(200);
    other.exec('rollback');
    await store.append(session, 2, [user('x')]);
    expect(await store.read(session)).toHaveLength(3);
  });
});

describe('a full disk', () => {
  test('refuses what does not fit and keeps everything else', async () => {
    const store = await open({ maxPages: 60 });
    const logs = await fill(store, 3, 5);
    const [one = '', two = '', three = ''] = [...logs.keys()];
    const results = await Promise.allSettled([
      store.append(one, 6, [user('small')]),
      store.append(two, 6, [user('fits'), user('does not fit: '.repeat(40_000))]),
      store.append(three, 6, [user('small too')]),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'store_full', hint: expect.stringContaining('space') } });
    expect(await store.read(one)).toHaveLength(7);
    expect(await store.read(two)).toEqual(logs.get(two));
    expect(await store.read(three)).toHaveLength(7);

    let seq = 6;
    await expect(
      (async () => {
        for (; seq < 10_000; seq++) await store.append(two, seq, [user('until it is full '.repeat(20))]);
      })(),
    ).rejects.toMatchObject({ code: 'store_full' });
    expect(await store.read(two)).toHaveLength(seq);
    await store.close();

    const bigger = await open();
    await bigger.append(two, seq, [user('there is room again')]);
    expect(await bigger.read(two)).toHaveLength(seq + 1);
    expect(problems).toEqual([]);
  });

  test('for real, on a file system of 1 MB', async (context) => {
    const mount = join(folder.path, 'small');
    mkdirSync(mount);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mount], { stdio: 'ignore' });
    } catch {
      return context.skip('a small file system cannot be mounted here');
    }
    try {
      const store = await openSqliteStore({ home: mount, onProblem: (text) => problems.push(text) });
      const { session, first } = newLog();
      await store.append(session, 0, [first]);
      let seq = 1;
      await expect(
        (async () => {
          for (; seq < 10_000; seq++) await store.append(session, seq, [user('x'.repeat(5_000))]);
        })(),
      ).rejects.toMatchObject({ code: 'store_full' });
      expect(seq).toBeGreaterThan(20);
      expect(await store.read(session)).toHaveLength(seq);
      await store.close();
      const again = await openSqliteStore({ home: mount, onProblem: (text) => problems.push(text) });
      expect(await again.read(session)).toHaveLength(seq);
      await again.close();
      expect(problems).toEqual([]);
    } finally {
      // Lazily: the driver may hold a closed file until its statements are collected.
      execFileSync('umount', ['-l', mount]);
    }
  });
});

describe('rows that cannot be read', () => {
  test('F07: a bad row in the middle costs itself only, and is reported', async () => {
    const store = await open();
    const [[session, events] = ['', []]] = await fill(store, 1, 6);
    const db = await raw();
    db.prepare(`update events set data = '{"type":"as' where session = ? and seq = 3`).run(session);
    db.prepare(`update events set data = '{"type":"user.message","origin":"user"}' where session = ? and seq = 4`).run(
      session,
    );
    db.prepare('delete from events where session = ? and seq in (5, 6)').run(session);
    expect(await store.read(session)).toEqual(events.filter(({ seq }) => seq < 3 || seq > 6));
    expect(problems).toEqual([
      expect.stringMatching(new RegExp(`^event 3 of session ${session} is no JSON`)),
      expect.stringMatching(/^event 4 .*does not validate: content: /),
      expect.stringMatching(/^events 5 to 6 .*are missing/),
    ]);
    await store.append(session, 7, [user('on we go')]);
  });

  test('an event of a type that a newer version writes is left out', async () => {
    const store = await open();
    const [[session] = ['']] = await fill(store, 1, 2);
    const db = await raw();
    db.prepare(`insert into events values (?, 4, 'x', 'moon.rose', '{"type":"moon.rose"}')`).run(session);
    expect(await store.read(session)).toHaveLength(3);
    expect(problems).toEqual([expect.stringMatching(/event 4 .*has the type "moon\.rose"/)]);
  });

  test('unreadable last events do not lock the session', async () => {
    const store = await open();
    const [[session] = ['']] = await fill(store, 1, 3);
    const db = await raw();
    db.prepare(`update events set data = '?' where session = ? and seq >= 3`).run(session);
    const events = await store.read(session);
    expect(events.at(-1)?.seq).toBe(2);
    expect((await store.append(session, 2, [user('on we go')]))[0]?.seq).toBe(5);
    expect((await store.list()).sessions[0]).toMatchObject({ lastSeq: 5 });
    expect((await store.read(session)).map(({ seq }) => seq)).toEqual([1, 2, 5]);
  });

  test('an additional field of a newer version is kept', async () => {
    const store = await open();
    const [[session] = ['']] = await fill(store, 1, 1);
    const db = await raw();
    db.prepare(`update events set data = json_set(data, '$.mood', 'good') where session = ? and seq = 2`).run(session);
    expect((await store.read(session))[1]).toMatchObject({ content: 'text 0', mood: 'good' });
  });
});

describe('a damaged file', () => {
  const aside = () => readdirSync(folder.path).filter((name) => /^sessions\.db\.corrupt-[\dTZ-]+$/.test(name));
  /** Closes the store and puts a changed copy in the place of its file. */
  const damage = async (store: SqliteStore, change: (bytes: Buffer) => Buffer) => {
    await store.close();
    const bytes = readFileSync(file());
    const changed = change(bytes);
    for (const suffix of ['', '-wal', '-shm']) rmSync(file() + suffix, { force: true });
    writeFileSync(file(), changed);
    return changed;
  };

  test('that is no database at all is kept aside; a new one works', async () => {
    writeFileSync(file(), 'this is a text file. '.repeat(1000));
    const store = await open();
    expect(aside()).toHaveLength(1);
    expect(readFileSync(join(folder.path, aside()[0]!), 'utf8')).toContain('this is a text file');
    expect(problems[0]).toMatch(/is damaged \(file is not a database\); it is kept as .*sessions\.db\.corrupt-/);
    await fill(store, 2, 2);
    expect(readdirSync(folder.path).sort()).toEqual(
      [aside()[0], 'sessions.db', 'sessions.db-shm', 'sessions.db-wal'].sort(),
    );
  });

  test('that lost its first page is recovered whole', async () => {
    const before = await open();
    const logs = await fill(before, 5, 20);
    const damaged = await damage(before, (bytes) => bytes.fill(0x55, 0, 4096));
    const store = await open();
    expect(problems[1]).toMatch(/^105 events of 5 sessions were recovered/);
    for (const [session, events] of logs) expect(await store.read(session)).toEqual(events);
    expect((await store.list()).sessions).toHaveLength(5);
    expect(readFileSync(join(folder.path, aside()[0]!)).equals(damaged)).toBe(true);
  });

  test('that was cut in the middle gives what is left; nothing is invented', async () => {
    const before = await open();
    const logs = await fill(before, 40, 30, 'a rather long text that fills pages '.repeat(5));
    await damage(before, (bytes) => bytes.subarray(0, Math.floor(bytes.length / 8192) * 4096));
    const store = await open();
    let recovered = 0;
    for (const [session, events] of logs) {
      const left = await store.read(session);
      for (const event of left) expect(event).toEqual(events[event.seq - 1]);
      recovered += left.length;
    }
    expect(recovered).toBeGreaterThan(100);
    expect(recovered).toBeLessThan(40 * 31);
    expect(problems[1]).toMatch(new RegExp(`^${recovered} events of \\d+ sessions were recovered`));
    const fresh = await fill(store, 1, 1);
    expect(fresh.size).toBe(1);
  });

  test('with a damaged page in the middle: other sessions go on, the hurt one keeps the rest', async () => {
    const before = await open();
    const logs = await fill(before, 20, 30, 'a rather long text that fills pages '.repeat(5));
    const victim = [...logs.keys()].sort()[10]!;
    const needle = Buffer.from(victim);
    await damage(before, (bytes) => {
      // A leaf of the events: a page that holds many rows of the victim.
      for (let page = 4096; page < bytes.length; page += 4096) {
        const found = bytes.subarray(page, page + 4096);
        const rows = found.toString('latin1').split(needle.toString('latin1')).length - 1;
        if (rows >= 8 && found.includes('a rather long text')) return bytes.fill(0xee, page, page + 4096);
      }
      throw new Error('no page to damage');
    });
    const store = await open();
    expect(aside()).toEqual([]);
    const left = await store.read(victim);
    expect(left.length).toBeGreaterThan(0);
    expect(left.length).toBeLessThan(31);
    for (const event of left) expect(event).toEqual(logs.get(victim)![event.seq - 1]);
    expect(problems.join('\n')).toMatch(/a part of .* is damaged/);
    expect(problems.join('\n')).toMatch(/are missing from the log/);
    for (const [session, events] of logs) {
      if (session === victim) continue;
      const read = await store.read(session);
      if (read.length === events.length) await store.append(session, 31, [said('x'), ended()]);
    }
    const untouched = [...logs.keys()].sort()[0]!;
    expect(await store.read(untouched)).toHaveLength(33);
  });

  test('is replaced once when several open it together', async () => {
    writeFileSync(file(), 'this is a text file. '.repeat(1000));
    const stores = await Promise.all([open(), open(), open()]);
    expect(aside()).toHaveLength(1);
    await Promise.all(stores.map((store) => fill(store, 2, 2)));
    expect((await stores[0]!.list()).sessions).toHaveLength(6);
    expect(existsSync(`${file()}.recovery`)).toBe(false);
  });

  test('is recovered together with its write-ahead log', async () => {
    const before = await open();
    const logs = await fill(before, 3, 10);
    const db = await raw();
    db.exec('pragma wal_checkpoint(truncate)');
    const more = await fill(before, 3, 10);
    const target = join(folder.path, 'copy');
    mkdirSync(target);
    for (const suffix of ['', '-wal']) copyFileSync(file() + suffix, join(target, `sessions.db${suffix}`));
    truncateSync(join(target, 'sessions.db'), 4096 * 2);
    const store = await open({ home: target });
    const { sessions } = await store.list();
    for (const { session } of sessions) {
      const events = (logs.get(session) ?? more.get(session))!;
      for (const event of await store.read(session)) expect(event).toEqual(events[event.seq - 1]);
    }
    expect(sessions.length).toBeGreaterThan(0);
  });
});
