import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import { type Drivers, drivers } from './drivers.ts';
import type { Problems } from './problems.ts';

/** The longest pause between two attempts to connect, in milliseconds. */
const LONGEST_PAUSE = 1_000;

/** What clocks may differ by, in milliseconds. */
const SKEW = 2_000;

/** @throws ReasonixError `config` when `url` is no address of a Redis. */
export function redisAddress(url: string): string {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  if (!address || !['redis:', 'rediss:'].includes(address.protocol)) {
    throw new ReasonixError('config', 'engine.url is no address of a Redis server', {
      hint: 'use redis://user:password@host:port/database, or rediss:// for TLS',
    });
  }
  return address.host || 'localhost';
}

/**
 * The connection to Redis that all commands of an engine share. Commands wait for a server that is away,
 * for as long as it takes; what was sent without an answer is sent again.
 */
export class Connection {
  readonly drivers: Drivers;
  readonly redis: Redis;
  readonly #address: string;
  readonly #problems: Problems;
  readonly #sentinel: string;
  #identity: string | undefined;
  #hasForgotten = false;
  #isClosed = false;
  #ahead = 0;
  readonly #pending = new Set<() => void>();
  readonly #warned = new Set<string>();

  private constructor(parts: { drivers: Drivers; url: string; prefix: string; problems: Problems }) {
    this.drivers = parts.drivers;
    this.#address = redisAddress(parts.url);
    this.#problems = parts.problems;
    this.#sentinel = `${parts.prefix}:sentinel`;
    this.redis = this.#watched(
      new parts.drivers.ioredis.Redis(parts.url, {
        maxRetriesPerRequest: null,
        retryStrategy: (attempt) => Math.min(LONGEST_PAUSE, 50 * 2 ** Math.min(attempt, 10)),
        // After a fail-over the old primary answers so: connect anew and send the command again.
        reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
      }),
    );
  }

  static async open(parts: { url: string; prefix: string; problems: Problems }): Promise<Connection> {
    return new Connection({ ...parts, drivers: await drivers() });
  }

  /** Another connection to the same server, of its own life. */
  duplicate(): Redis {
    return this.#watched(this.redis.duplicate());
  }

  /** Sends commands. @throws ReasonixError `engine` when they fail for good, or when the engine closes. */
  async command<T>(send: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw engineClosed();
    // The driver forgets to answer some of the commands that wait for a server when the connection is closed.
    return new Promise<T>((resolve, reject) => {
      const abort = () => reject(engineClosed());
      this.#pending.add(abort);
      const settled = () => void this.#pending.delete(abort);
      send()
        .then(resolve, (error: unknown) => reject(this.#isClosed ? engineClosed() : this.#refusal(error)))
        .finally(settled);
    });
  }

  /** Told by every part that hears of an error of Redis. */
  fault(error: unknown): void {
    if (this.#isClosed) return;
    const { code } = error as { code?: unknown };
    if (isOutage(error)) {
      const why = typeof code === 'string' ? code : messageOf(error);
      this.#problems.tell('outage', `Redis at ${this.#address} cannot be reached (${why}); it is tried on`);
    } else {
      const text = messageOf(error);
      // Ids and numbers aside, the same problem is the same text.
      this.#problems.tell(text.replace(/[0-9a-f-]*\d[0-9a-f-]*/gi, '#'), `the queue in Redis: ${text}`);
    }
  }

  /**
   * Looks whether Redis still has what it had at the last look, and says false if that is not sure: the
   * sentinel is gone or another one, or the server was started anew and may have lost its last seconds.
   */
  async keepsData(): Promise<boolean> {
    const replies = await this.redis
      .pipeline()
      .set(this.#sentinel, randomUUID(), 'NX')
      .get(this.#sentinel)
      .info()
      .time()
      .exec();
    const [isNew, sentinel, info, time] = (replies ?? []).map(([error, reply]) => {
      if (error) throw error;
      return reply;
    });
    this.#compareClocks(time as [seconds: number, microseconds: number]);
    const facts = String(info);
    this.#judge(facts);
    const identity = `${String(sentinel)} ${fact(facts, 'run_id')}`;
    const before = this.#identity;
    this.#identity = identity;
    const keeps = before === undefined ? isNew === null : before === identity;
    if (!keeps) this.#hasForgotten = true;
    return keeps;
  }

  /** Epoch milliseconds by the server's clock, as far as it is another one. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  #compareClocks([seconds, microseconds]: readonly [seconds: number, microseconds: number]): void {
    const ahead = Math.round(Number(seconds) * 1_000 + Number(microseconds) / 1_000 - Date.now());
    this.#ahead = Math.abs(ahead) < SKEW ? 0 : ahead;
    if (this.#ahead === 0) return;
    const by = `${Math.round(Math.abs(ahead) / 1_000)} s ${ahead > 0 ? 'behind' : 'ahead of'}`;
    this.#problems.tell(
      'clock',
      `the clock of this machine is ${by} that of Redis at ${this.#address}: what is put off comes so much too early or late; keep clocks in step (NTP)`,
    );
  }

  /** True once after the server may have lost data. */
  async forgot(): Promise<boolean> {
    await this.keepsData();
    const forgot = this.#hasForgotten;
    this.#hasForgotten = false;
    return forgot;
  }

  close(): void {
    this.#isClosed = true;
    this.redis.disconnect();
    for (const abort of [...this.#pending]) abort();
  }

  #refusal(error: unknown): ReasonixError {
    if (ReasonixError.isInstance(error)) return error;
    return new ReasonixError('engine', `Redis at ${this.#address} refused: ${messageOf(error)}`, { cause: error });
  }

  #judge(facts: string): void {
    const policy = fact(facts, 'maxmemory_policy');
    if (policy !== '' && policy !== 'noeviction') {
      this.#warn(
        `Redis at ${this.#address} has maxmemory-policy ${policy} and may drop jobs when it is full: ` +
          'set maxmemory-policy to noeviction',
      );
    }
    const [major = 0, minor = 0] = fact(facts, 'redis_version').split('.').map(Number);
    if (major > 0 && (major < 6 || (major === 6 && minor < 2))) {
      this.#warn(`Redis at ${this.#address} is ${major}.${minor}: the queue needs 6.2 or newer`);
    }
  }

  #warn(text: string): void {
    if (this.#warned.has(text)) return;
    this.#warned.add(text);
    this.#problems.tell(text, text);
  }

  #watched(redis: Redis): Redis {
    return redis.on('error', (error) => this.fault(error));
  }
}

export const engineClosed = (): ReasonixError => new ReasonixError('engine', 'the engine is closed');

/** The value of a line of Redis' `INFO`, or an empty text. */
function fact(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
}

function isOutage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  const text = messageOf(error);
  return (
    (typeof code === 'string' && /^E[A-Z]+$/.test(code)) || /connection is closed|ECONN|ETIMEDOUT|LOADING/i.test(text)
  );
}
