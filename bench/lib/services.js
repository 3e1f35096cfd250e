// @ts-check
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

/** @typedef {typeof import('../../test/helpers/redis.ts')} RedisHelper */
/** @typedef {typeof import('../../test/helpers/postgres.ts')} PostgresHelper */

/**
 * Redis and Postgres with empty data of their own on free ports, as the tests start them.
 * @returns {Promise<{ redis: string, postgres: string, stop: () => Promise<void> } | { missing: string }>} their addresses
 */
export async function startServices() {
  /** @type {PostgresHelper} */
  const { findProgram, postgresPrograms, startPostgres } = await helper('postgres');
  if (findProgram('redis-server') === undefined) return { missing: 'redis-server' };
  if (postgresPrograms() === undefined) return { missing: 'Postgres' };
  /** @type {RedisHelper} */
  const { startRedis } = await helper('redis');
  const redis = await startRedis();
  try {
    const postgres = await startPostgres();
    return {
      redis: redis.url,
      postgres: postgres.url,
      stop: async () => {
        await Promise.all([redis.stop(), postgres.stop()]);
      },
    };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

/**
 * A helper of the tests. Node 20 does not run TypeScript; these import nothing but Node's own modules.
 * @param {string} name
 */
async function helper(name) {
  const input = fileURLToPath(new URL(`../../test/helpers/${name}.ts`, import.meta.url));
  const bundle = await rolldown({ input, platform: 'node', logLevel: 'silent' });
  const { output } = await bundle.generate({ format: 'esm' });
  await bundle.close();
  return import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
}
