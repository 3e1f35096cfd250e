import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Database, sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import { ended, newLog, said, user } from './samples.ts';
import { temporaryFolder } from './temporary-folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
let store: SqliteStore;
let db: Database;

beforeEach(async () => {
  folder = temporaryFolder();
  store = await openSqliteStore({ home: folder.path });
  db = (await sqliteDriver()).open(store.path);
  const logs = [newLog({ cwd: '/a' }), newLog({ cwd: '/b' }), newLog()];
  for (const [index, { session, first }] of logs.entries()) {
    await store.append(session, 0, [first, user(`title ${index}`), said('x')]);
    if (index > 0) await store.append(session, 3, [ended('failed'), said('a late word')]);
  }
});
afterEach(async () => {
  db.close();
  await store.close();
  folder.remove();
});

test('are the same when they are made anew from the logs', async () => {
  const before = await store.list();
  expect(before.sessions.map(({ title, status, lastSeq }) => ({ title, status, lastSeq }))).toEqual([
    { title: 'title 2', status: 'failed', lastSeq: 5 },
    { title: 'title 1', status: 'failed', lastSeq: 5 },
    { title: 'title 0', status: 'open', lastSeq: 3 },
  ]);
  db.exec(`update sessions set title = 'wrong', last_seq = 0; delete from sessions where cwd = '/b'`);
  db.exec(
    `insert into sessions select 's_ghost', kind, root, null, null, null, '', '', '', 0, '', '', 1, 'idle' from sessions limit 1`,
  );
  expect(await store.rebuildSummaries()).toBe(3);
  expect(await store.list()).toEqual(before);
});

test('are made anew on opening when they are gone', async () => {
  const before = await store.list();
  db.exec('delete from sessions');
  await store.close();
  store = await openSqliteStore({ home: folder.path });
  expect(await store.list()).toEqual(before);
});

test('one that is missing or behind comes right with the next append', async () => {
  const { sessions } = await store.list();
  const [missing, behind] = sessions as [(typeof sessions)[0], (typeof sessions)[0]];
  db.prepare('delete from sessions where session = ?').run(missing.session);
  db.prepare(`update sessions set last_seq = 1, title = '', status = 'idle' where session = ?`).run(behind.session);
  for (const { session, title } of [missing, behind]) {
    await store.append(session, 5, [user('another turn')]);
    const listed = (await store.list({ idPrefix: session })).sessions[0];
    expect(listed).toMatchObject({ title, status: 'open', lastSeq: 6 });
  }
});

test('are found by index, whatever the filter', async () => {
  const orders = [
    ['kind', 'created_at'],
    ['root', 'created_at'],
    ['cwd', 'created_at'],
    ['parent_session', undefined],
  ];
  for (const [column, order] of orders) {
    const sql = `select * from sessions where ${column} = 'x' ${order ? `order by ${order} desc, session desc` : ''}`;
    const plan = db.prepare(`explain query plan ${sql}`).all() as { detail: string }[];
    expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/^SEARCH sessions USING INDEX/)]);
  }
});
