import { afterAll, beforeAll, describe, expect } from 'vitest';
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

  describeEngine('BullMQ engine', async () => {
    const problems: string[] = [];
    const engine = bullmqEngine({
      url: server.url,
      prefix: `p${++prefixes}`,
      onProblem: (text) => problems.push(text),
    });
    return { engine, dispose: async () => expect(problems).toEqual([]) };
  });
});
