import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type RedisServer, startRedis } from './redis.ts';

/** A Redis for the tests of a `describe`, empty at the start of each. */
export interface EmptiedRedis {
  readonly server: RedisServer;
  /** To look into it, and to change it, beside what is tested. */
  readonly admin: Redis;
}

/** Its parts are there once the tests run. */
export function emptiedRedis(): EmptiedRedis {
  let server: RedisServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await startRedis();
    admin = new Redis(server.url);
    admin.on('error', () => {});
  });
  beforeEach(async () => {
    await admin.flushall();
  });
  afterAll(async () => {
    admin?.disconnect();
    await server?.stop();
  });
  return {
    get server() {
      return server;
    },
    get admin() {
      return admin;
    },
  };
}
