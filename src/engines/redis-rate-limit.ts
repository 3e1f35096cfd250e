import { randomBytes } from 'node:crypto';
import { messageOf } from '../core/errors.ts';
import { Line } from '../models/line.ts';
import { MINUTE, type RateClock, type RateLimit, RateWindow, steadyClock } from '../models/rate-limit.ts';
import { type RedisScripts, redisScript } from './redis-scripts.ts';

export interface RedisRateLimitOptions {
  redis: RedisScripts;
  /** What the keys begin with; processes with the same one share their limits. Default `reasonix`. */
  prefix?: string | undefined;
  /** Told once when Redis is away, and when it has lost what went before. */
  onProblem?: ((text: string) => void) | undefined;
  /** Milliseconds that a minute has. Default 60,000. */
  window?: number | undefined;
}

/** Milliseconds that a request may go after the moment that it was given: the minute of Redis is so much longer. */
const MARGIN = 500;

/** How often a moment that has passed unused is given back for another one; then it is used, late as it is. */
const MOST_ATTEMPTS = 3;

/**
 * A limit over all processes that use one Redis, by its clock. Each root has one moment to come in Redis,
 * however many of its calls wait and in however many processes, so that roots take turns. Where Redis is away, every process keeps to the limit
 * by itself, with what it has sent before; where Redis was emptied, nobody sends for a minute.
 */
export function redisRateLimit({
  redis,
  prefix = 'reasonix',
  onProblem = () => {},
  window = MINUTE,
}: RedisRateLimitOptions): RateLimit {
  const lanes = new Map<string, Lane>();
  return {
    async acquire(provider, perMinute, signal, root) {
      if (!(perMinute > 0)) return;
      let lane = lanes.get(provider);
      if (!lane) {
        lane = new Lane({ redis, key: `${prefix}:rate:${provider}`, provider, window, onProblem });
        lanes.set(provider, lane);
      }
      await lane.wait(perMinute, signal, root);
    },
  };
}

/** The calls of one root in this process. */
interface RootLine {
  line: Line;
  waiting: number;
}

interface LaneOptions {
  redis: RedisScripts;
  key: string;
  provider: string;
  window: number;
  onProblem: (text: string) => void;
}

/** A moment of which Redis knows that it is taken. */
interface Place {
  id: string;
  /** By the clock of this process: no earlier, and no later. */
  from: number;
  to: number;
}

class Lane {
  readonly #options: LaneOptions;
  readonly #clock: RateClock = steadyClock;
  readonly #lines = new Map<string | undefined, RootLine>();
  /** All requests of this process. */
  readonly #sent: RateWindow;
  /** When those went of which Redis does not know. */
  #untold: number[] = [];
  #newest: { id: string; at: number } | undefined;
  #isAway = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#sent = new RateWindow(options.window);
  }

  async wait(most: number, signal: AbortSignal, root: string | undefined): Promise<void> {
    const known = this.#lines.get(root);
    const own = known ?? { line: new Line((bound, left) => this.#admit(bound, left, root)), waiting: 0 };
    if (!known) this.#lines.set(root, own);
    own.waiting++;
    try {
      await own.line.wait(most, signal);
    } finally {
      own.waiting--;
      if (own.waiting === 0) this.#lines.delete(root);
    }
  }

  async #admit(most: number, signal: AbortSignal, root: string | undefined): Promise<void> {
    try {
      for (let attempt = 1; !(await this.#tryOnce(most, signal, root, attempt >= MOST_ATTEMPTS)); attempt++);
    } catch (error) {
      if (signal.aborted) throw error;
      this.#tell(error);
      await this.#sent.enter(most, signal, this.#clock);
      this.#untold.push(this.#clock.now());
    }
  }

  /** False when the moment had passed, or was lost, before anything could go. */
  async #tryOnce(most: number, signal: AbortSignal, root: string | undefined, anyway: boolean): Promise<boolean> {
    const place = await this.#place(most, signal, root);
    try {
      const left = place.from - this.#clock.now();
      if (left > 0) {
        await this.#clock.sleep(Math.ceil(left), signal);
        if (!(await this.#isHeld(place))) return false;
      }
      signal.throwIfAborted();
    } catch (error) {
      if (signal.aborted) await this.#giveBack(place);
      throw error;
    }
    const now = this.#clock.now();
    if (now > place.to && !anyway) {
      await this.#giveBack(place);
      return false;
    }
    this.#newest = { id: place.id, at: now };
    this.#sent.take(now);
    return true;
  }

  async #place(most: number, signal: AbortSignal, root: string | undefined): Promise<Place> {
    const { redis, key, window, onProblem, provider } = this.#options;
    for (;;) {
      const before = this.#clock.now();
      const isRecent = (at: number) => before - at < window;
      const unique = randomBytes(9).toString('base64url');
      const id = root === undefined ? unique : `${unique}@${root}`;
      // Others of this process may ask meanwhile: it is told once.
      const untold = this.#untold.filter(isRecent);
      this.#untold = [];
      const newest = this.#newest && isRecent(this.#newest.at) ? this.#newest.id : '';
      const ages = untold.map((at) => Math.round(before - at));
      const asked = redis.run(ASK, key, [Math.max(1, Math.floor(most)), window + MARGIN, id, newest, ...ages]);
      const reply = await asked.catch((error: unknown) => {
        this.#untold.push(...untold);
        throw error;
      });
      const [wait, isTaken, isLost] = (reply as unknown[]).map(Number) as [number, number, number];
      const after = this.#clock.now();
      this.#isAway = false;
      if (isLost === 1) {
        onProblem(`Redis has lost which requests went to ${provider}: none goes until a minute after that`);
      }
      if (isTaken === 1) return { id, from: after + wait, to: before + wait + MARGIN };
      await this.#clock.sleep(Math.max(1, wait), signal);
    }
  }

  async #isHeld({ id }: Place): Promise<boolean> {
    const { redis, key } = this.#options;
    return Number(await redis.run(HELD, key, [id])) === 1;
  }

  async #giveBack({ id }: Place): Promise<void> {
    const { redis, key } = this.#options;
    // What stays taken holds others back for a moment, and nothing worse.
    await redis.run(GIVE_BACK, key, [id]).catch(() => {});
  }

  #tell(error: unknown): void {
    if (this.#isAway) return;
    this.#isAway = true;
    const { onProblem, provider } = this.#options;
    onProblem(`Redis is away, so this process keeps to the limit of ${provider} by itself: ${messageOf(error)}`);
  }
}

/**
 * A sorted set holds the moments of the newest requests, in milliseconds of the server's clock. Its lowest
 * member says since when it is there: `#first`, or `#lost` when it is known that there was one before.
 *
 * Arguments: how many a window may have, its length, the id to take a moment for, the id of the asker's
 * newest request of this window or '', and the ages of its requests that are not in the set. The root of
 * a request stands behind the @ of its id.
 * Answer: milliseconds to wait; whether the moment is taken, else it is to be asked again then; whether
 * the set was found lost.
 */
const ASK = redisScript(`
local key, most, window, id, newest = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lost = 0

local function fill(at)
  for place = 1, most do redis.call('ZADD', key, at, '#' .. at .. ':' .. place) end
end

local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
if not first[1] or tonumber(first[2]) >= 0 then
  -- Others may have sent as much as they could until now.
  if newest ~= '' then
    lost = 1
    fill(now)
  end
  redis.call('ZADD', key, -now, lost == 1 and '#lost' or '#first')
elseif first[1] == '#first' and newest ~= '' and not redis.call('ZSCORE', key, newest) then
  -- Somebody who knew nothing of before was here first.
  lost = 1
  fill(-tonumber(first[2]))
  redis.call('ZREM', key, '#first')
  redis.call('ZADD', key, first[2], '#lost')
end

-- The clock was put back: nobody is given a moment so far away.
local ahead = redis.call('ZRANGEBYSCORE', key, '(' .. (now + window), '+inf')
for _, member in ipairs(ahead) do redis.call('ZADD', key, now, member) end

for index = 5, #ARGV do
  redis.call('ZADD', key, now - tonumber(ARGV[index]), id .. ':' .. index)
end
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
redis.call('PEXPIRE', key, window * 4)

local before = redis.call('ZREVRANGE', key, most - 1, most - 1, 'WITHSCORES')
local at = now
if before[1] and tonumber(before[2]) >= 0 then at = math.max(now, tonumber(before[2]) + window) end
if at - now > window then return { at - now - window, 0, lost } end

local root = string.match(id, '@.+$')
if root and at > now then
  local taken = redis.call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES')
  for index = 1, #taken, 2 do
    -- It may be given back before it comes.
    if string.sub(taken[index], -#root) == root then return { math.min(tonumber(taken[index + 1]) - now, 1000), 0, lost } end
  end
end
redis.call('ZADD', key, at, id)
return { at - now, 1, lost }
`);

const HELD = redisScript(`return redis.call('ZSCORE', KEYS[1], ARGV[1]) and 1 or 0`);

const GIVE_BACK = redisScript(`return redis.call('ZREM', KEYS[1], ARGV[1])`);
