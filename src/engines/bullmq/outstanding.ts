import type { Redis } from 'ioredis';

/** How long a root without anything new is remembered, in milliseconds. */
const LIFETIME = 24 * 60 * 60_000;

/** The largest priority that the queue knows; 1 goes first. */
const LAST = 2 ** 21;

const JOIN = `
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('SCARD', KEYS[1])`;

// A session with another run to come stays: its deduplication key says so.
const LEAVE = `
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('SREM', KEYS[1], ARGV[1]) end
return 0`;

/**
 * The sessions of each root that wait for a run or run. Their number is the priority of the next one, so
 * that the first of one root goes before the second of another, however many of those wait already.
 */
export class Outstanding {
  readonly #redis: Redis;
  readonly #prefix: string;

  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Counts the session in; returns its priority. */
  async join(root: string, session: string): Promise<number> {
    const count = Number(await this.#redis.eval(JOIN, 1, this.#key(root), session, LIFETIME));
    return Math.min(LAST, Math.max(1, count));
  }

  /** Counts a session out whose run is over, unless the key at `deduplication` announces another. */
  async leave(root: string, session: string, deduplication: string): Promise<void> {
    await this.#redis.eval(LEAVE, 2, this.#key(root), deduplication, session);
  }

  #key(root: string): string {
    return `${this.#prefix}:root:${root}`;
  }
}
