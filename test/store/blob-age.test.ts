import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blobHash } from '../../src/store/blobs.ts';
import type { BlobStore } from '../../src/store/contract.ts';
import { openPostgresStore } from '../../src/store/postgres.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../helpers/postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

const DAY = 86_400_000;
const bytes = ['asked for', 'put again', 'left alone'].map((text) => Buffer.from(text));
const [asked, again, alone] = bytes.map(blobHash) as [string, string, string];
const blobs = new Map([asked, again, alone].map((hash, index) => [hash, bytes[index] as Buffer]));

/** `age` makes all blobs look as if nobody had used them for years. */
async function expectUseToKeep(store: BlobStore, age: () => unknown): Promise<void> {
  await store.putBlobs(blobs);
  await age();
  expect(await store.missingBlobs([asked])).toEqual([]);
  await store.putBlobs(new Map([[again, blobs.get(again) as Buffer]]));
  await store.readBlobs([alone]);
  expect(await store.dropBlobs(new Set(), DAY)).toBe(1);
  expect(await store.missingBlobs([asked, again, alone])).toEqual([alone]);
}

test('sqlite: a blob that was asked for or put lately stays', async () => {
  const folder = temporaryFolder();
  const store = await openSqliteStore({ home: folder.path });
  try {
    const db = new DatabaseSync(store.path);
    await expectUseToKeep(store, () => db.exec('update blobs set used_at = 0'));
    db.close();
  } finally {
    await store.close();
    folder.remove();
  }
});

const isInstalled = postgresPrograms() !== undefined;
if (!isInstalled) console.warn('Postgres is not installed: the tests of its blobs are left out');

describe.skipIf(!isInstalled)('postgres', () => {
  let server: PostgresServer;
  let client: pg.Client;
  beforeAll(async () => {
    server = await startPostgres();
    client = new pg.Client({ connectionString: server.url });
    await client.connect();
  }, 60_000);
  afterAll(async () => {
    await client?.end();
    await server?.stop();
  });
  const age = (schema: string) => client.query(`update ${schema}.blobs set used_at = now() - interval '2 years'`);

  test('a blob that was asked for or put lately stays', async () => {
    const store = await openPostgresStore({ url: server.url, schema: 'aged' });
    try {
      await expectUseToKeep(store, () => age('aged'));
    } finally {
      await store.close();
    }
  });

  test('one that is being dropped counts as missing, and can be put at once', async () => {
    const store = await openPostgresStore({ url: server.url, schema: 'raced' });
    try {
      await store.putBlobs(blobs);
      await age('raced');
      await client.query('begin');
      await client.query('delete from raced.blobs where hash = any($1)', [[asked, again]]);
      const missing = store.missingBlobs([asked]);
      const put = store.putBlobs(new Map([[again, blobs.get(again) as Buffer]]));
      const settled = Promise.race([missing, put]).then(() => 'settled');
      expect(await Promise.race([settled, delay(200, 'waiting')])).toBe('waiting');
      await client.query('commit');
      expect(await missing).toEqual([asked]);
      await put;
      expect(await store.missingBlobs([again])).toEqual([]);
    } finally {
      await store.close();
    }
  });
});
