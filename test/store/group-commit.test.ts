import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommitQueue } from '../../src/store/sqlite/commit-queue.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import { newLog, user } from './samples.ts';
import { temporaryFolder } from './temporary-folder.ts';

let folder: ReturnType<typeof temporaryFolder>;
let store: SqliteStore;

beforeEach(async () => {
  folder = temporaryFolder();
  store = await openSqliteStore({ home: folder.path });
});
afterEach(async () => {
  await store.close();
  folder.remove();
});

/** Transactions in the write-ahead log: the frames that say how large the file is after them. */
function commits(): number {
  const wal = readFileSync(`${store.path}-wal`);
  const pageSize = wal.readUInt32BE(8);
  let count = 0;
  for (let frame = 32; frame < wal.length; frame += 24 + pageSize) {
    if (wal.readUInt32BE(frame + 4) > 0) count++;
  }
  return count;
}

test('200 sessions that append 5 events each share their transactions', async () => {
  const before = commits();
  const logs = Array.from({ length: 200 }, () => newLog());
  await Promise.all(
    logs.map(async ({ session, first }) => {
      await store.append(session, 0, [first]);
      for (let seq = 1; seq < 5; seq++) await store.append(session, seq, [user(`m${seq}`)]);
    }),
  );
  expect(commits() - before).toBeGreaterThanOrEqual(5);
  expect(commits() - before).toBeLessThanOrEqual(20);
  for (const { session } of logs) expect(await store.read(session)).toHaveLength(5);
});

test('so do writes that callbacks of one turn of the event loop ask for', async () => {
  const before = commits();
  const claims: Promise<unknown>[] = [];
  await new Promise<void>((resolve) => {
    for (let n = 0; n < 40; n++) {
      setImmediate(() => {
        claims.push(store.claim(`s_${n}`, 'elsewhere:1:2:3'));
        if (n === 39) resolve();
      });
    }
  });
  await Promise.all(claims);
  expect(commits() - before).toBe(1);
});

test('a write that fails half-way leaves nothing of itself, and those beside it stand', async () => {
  const db = (await sqliteDriver()).open(join(folder.path, 'other.db'));
  try {
    db.exec('create table numbers (n)');
    const insert = db.prepare('insert into numbers values (?)');
    const queue = new CommitQueue(db, 1_000);
    const results = await Promise.allSettled([
      queue.write(() => insert.run(1)),
      queue.write(() => {
        insert.run(2);
        throw new Error('half-way');
      }),
      queue.write(() => insert.run(3)),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { message: 'half-way' } });
    const alone = queue.write(() => {
      insert.run(4);
      throw new Error('alone');
    });
    await expect(alone).rejects.toThrow('alone');
    expect((db.prepare('select n from numbers').all() as { n: number }[]).map(({ n }) => n)).toEqual([1, 3]);
  } finally {
    db.close();
  }
});
