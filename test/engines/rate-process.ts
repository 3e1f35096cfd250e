import { once } from 'node:events';
import { redisRateLimit } from '../../src/engines/redis-rate-limit.ts';
import { openRedisScripts } from '../../src/engines/redis-scripts.ts';

/**
 * A process that asks for many requests at once: `rate-process.ts <url> <most> <window> <requests>`. It says
 * when it is ready, waits for a line, and prints when each request may go.
 */

const [url = '', most, window, requests] = process.argv.slice(2);
const redis = await openRedisScripts(url);
const onProblem = (text: string) => console.log(JSON.stringify({ problem: text }));
const limit = redisRateLimit({ redis, window: Number(window), onProblem });
const { signal } = new AbortController();
console.log(JSON.stringify({ ready: true }));
await once(process.stdin, 'data');
process.stdin.pause();
await Promise.all(
  Array.from({ length: Number(requests) }, async () => {
    await limit.acquire('p', Number(most), signal);
    console.log(JSON.stringify({ at: Date.now() }));
  }),
);
await redis.close();
