import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { messageOf, ReasonixError } from '../core/errors.ts';

/** A Lua script that is one step to everybody else. */
export interface RedisScript {
  readonly text: string;
  readonly sha: string;
}

export const redisScript = (text: string): RedisScript => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
});

export type RedisArgument = string | number;

/**
 * A connection for short steps that somebody waits for: a server that is away, or does not answer within
 * two seconds, is an error at once and never a queue. It comes back by itself.
 */
export interface RedisScripts {
  /** Runs a script on one key. @throws when the server does not answer. */
  run(script: RedisScript, key: string, args: readonly RedisArgument[]): Promise<unknown>;
  close(): Promise<void>;
}

/** Milliseconds. */
const PATIENCE = 2_000;

/**
 * Connects, or goes on trying in the background when the server is away.
 * @throws ReasonixError `config` without the package `ioredis`.
 */
export async function openRedisScripts(url: string): Promise<RedisScripts> {
  const { Redis: Client } = await driver();
  const redis = new Client(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: PATIENCE,
    commandTimeout: PATIENCE,
    retryStrategy: (attempt) => Math.min(100 * attempt, PATIENCE),
  });
  // Every step that fails says so itself.
  redis.on('error', () => {});
  await redis.connect().catch(() => {});
  return {
    run: (script, key, args) => run(redis, script, key, args),
    close: async () => redis.disconnect(),
  };
}

async function run(
  redis: Redis,
  { sha, text }: RedisScript,
  key: string,
  args: readonly RedisArgument[],
): Promise<unknown> {
  try {
    return await redis.evalsha(sha, 1, key, ...args);
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw error;
    return redis.eval(text, 1, key, ...args);
  }
}

async function driver(): Promise<Pick<typeof import('ioredis'), 'Redis'>> {
  try {
    return await import('ioredis');
  } catch (error) {
    throw new ReasonixError('config', 'limits over several machines need the package ioredis, which is missing', {
      hint: 'npm install ioredis',
      cause: error,
    });
  }
}
