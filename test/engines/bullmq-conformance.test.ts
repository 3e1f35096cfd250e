import { afterAll, beforeAll, describe } from 'vitest';
import { bullmqEngine } from '../../src/engines/bullmq.ts';
import { hasRedis, type RedisServer, startRedis } from '../helpers/redis.ts';
import { describeEngine } from './conformance.ts';

describe.skipIf(!hasRedis())('over Redis', () => {
  let server: RedisServer;
  let prefixes = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.stop());

  describeEngine('BullMQ engine', async () => ({
    engine: bullmqEngine({
      url: server.url,
      prefix: `p${++prefixes}`,
      onProblem: (text) => {
        throw new Error(`unexpected problem: ${text}`);
      },
    }),
    dispose: async () => {},
  }));
});
