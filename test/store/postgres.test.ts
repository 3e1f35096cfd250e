import { afterAll, beforeAll, describe } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres.ts';
import { type PostgresServer, postgresPrograms, startPostgres } from '../helpers/postgres.ts';
import { describeStore } from './conformance.ts';

const isInstalled = postgresPrograms() !== undefined;
if (!isInstalled) console.warn('Postgres is not installed: the tests of the Postgres store are left out');

describe.skipIf(!isInstalled)('postgres', () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.stop());

  describeStore('postgres store', async () => {
    const store = await openPostgresStore({
      url: server.url,
      schema: `s${++schemas}`,
      pollInterval: 60_000,
      onProblem: (text) => {
        throw new Error(`unexpected problem: ${text}`);
      },
    });
    return { store, dispose: () => store.close() };
  });
});
