import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { newLog, user } from './samples.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Transactions in a write-ahead log: the frames that say how large the file is after them. */
function commitsIn(wal: Buffer): number {
  const pageSize = wal.readUInt32BE(8);
  let commits = 0;
  for (let frame = 32; frame < wal.length; frame += 24 + pageSize) {
    if (wal.readUInt32BE(frame + 4) > 0) commits++;
  }
  return commits;
}

test('200 sessions that append 5 events each share their transactions', async () => {
  const folder = temporaryFolder();
  const store = await openSqliteStore({ home: folder.path });
  try {
    const wal = () => readFileSync(`${store.path}-wal`);
    const before = commitsIn(wal());
    const logs = Array.from({ length: 200 }, () => newLog());
    await Promise.all(
      logs.map(async ({ session, first }) => {
        await store.append(session, 0, [first]);
        for (let seq = 1; seq < 5; seq++) await store.append(session, seq, [user(`m${seq}`)]);
      }),
    );
    const commits = commitsIn(wal()) - before;
    expect(commits).toBeGreaterThanOrEqual(5);
    expect(commits).toBeLessThanOrEqual(20);
    for (const { session } of logs) expect(await store.read(session)).toHaveLength(5);
  } finally {
    await store.close();
    folder.remove();
  }
});
