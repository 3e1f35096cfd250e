import type { SharedSpent } from '../core/budget-ledger.ts';
import { messageOf } from '../core/errors.ts';
import type { SessionStore } from '../store/contract.ts';
import { rebuildTree } from '../subagents/rebuild-tree.ts';
import { MemoryLedger, type Tree, type TreeLedger, type TurnSpent } from '../subagents/tree-ledger.ts';
import { type RedisArgument, type RedisScript, type RedisScripts, redisScript } from './redis-scripts.ts';

export interface RedisLedgerOptions {
  redis: RedisScripts;
  /** Where the logs are: what Redis has lost is read from them. */
  store: SessionStore;
  /** What the keys begin with. Default `reasonix`. */
  prefix?: string | undefined;
  /** Told once when Redis is away. */
  onProblem?: ((text: string) => void) | undefined;
}

/** Seconds after the last write that a tree is kept for. */
const KEPT = 7 * 24 * 3600;

/** How long logs are taken for fresh while Redis is away, in milliseconds: reading a tree is work. */
const FRESH = 2_000;

/** How often a tree is rebuilt for one step, when it is lost again and again. */
const MOST_ATTEMPTS = 3;

/** Answers of scripts. */
const MISSING = -2;
const FREE = -1;

/**
 * A ledger that all processes share which use one Redis: a hash for each tree. One that is missing, at first
 * or after Redis was emptied, is rebuilt from the logs. While Redis is away every process goes by the logs
 * and by what it has counted itself; then ceilings hold as of two seconds ago.
 */
export function redisLedger(options: RedisLedgerOptions): TreeLedger {
  return new RedisLedger(options);
}

class RedisLedger implements TreeLedger {
  readonly #redis: RedisScripts;
  readonly #store: SessionStore;
  readonly #prefix: string;
  readonly #onProblem: (text: string) => void;
  readonly #local = new MemoryLedger();
  /** Trees of which Redis may not know all, and when their logs were read for that. */
  readonly #behind = new Map<string, number>();
  readonly #rebuilding = new Map<string, Promise<void>>();
  #isAway = false;

  constructor({ redis, store, prefix = 'reasonix', onProblem = () => {} }: RedisLedgerOptions) {
    this.#redis = redis;
    this.#store = store;
    this.#prefix = prefix;
    this.#onProblem = onProblem;
  }

  async record(tree: Tree, path: readonly string[], spent: TurnSpent): Promise<void> {
    const args = [KEPT, Math.round(spent.tokens), nano(spent.cost), ...path];
    const recorded = this.#step(
      tree,
      () => this.#run(RECORD, tree, args),
      () => this.#local.record(tree, path, spent),
    );
    // The turn's log is about to say the same; where that cannot be written, that is what the turn ends with.
    await recorded.catch(() => {});
  }

  spent(tree: Tree, path: readonly string[]): Promise<SharedSpent[]> {
    return this.#step(
      tree,
      async () => {
        const reply = await this.#run(SPENT, tree, path);
        if (!Array.isArray(reply)) return MISSING;
        const numbers = reply.map(Number);
        return path.map((_, index) => {
          const [tokens = 0, cost = 0, spawns = 0] = numbers.slice(3 * index);
          return { tokens, cost: cost / NANO, spawns };
        });
      },
      () => this.#local.spent(tree, path),
    );
  }

  async admit(
    tree: Tree,
    path: readonly string[],
    call: string,
    limits: readonly (number | undefined)[],
  ): Promise<number | undefined> {
    const pairs = path.flatMap((key, index) => [key, limits[index] ?? '']);
    const full = await this.#step(
      tree,
      async () => Number(await this.#run(ADMIT, tree, [KEPT, call, ...pairs])),
      async () => (await this.#local.admit(tree, path, call, limits)) ?? FREE,
    );
    return full === FREE ? undefined : full;
  }

  /** A step in Redis, after a rebuild where the tree is missing there; else the same step on what this process knows. */
  async #step<T>(tree: Tree, shared: () => Promise<T>, local: () => Promise<Exclude<T, typeof MISSING>>) {
    try {
      if (this.#behind.has(this.#key(tree))) await this.#rebuild(tree);
      for (let attempt = 1; ; attempt++) {
        const reply = await shared();
        this.#isAway = false;
        if (reply !== MISSING) return reply as Exclude<T, typeof MISSING>;
        if (attempt === MOST_ATTEMPTS) throw new Error('it loses what it is told');
        await this.#rebuild(tree);
      }
    } catch (error) {
      this.#tell(error);
      await this.#readLogs(tree);
      return local();
    }
  }

  /** Has Redis know what the logs say, on top of what it knows: nothing counts twice. */
  #rebuild(tree: Tree): Promise<void> {
    const key = this.#key(tree);
    const running = this.#rebuilding.get(key);
    if (running) return running;
    const rebuilding = this.#fill(tree).finally(() => this.#rebuilding.delete(key));
    this.#rebuilding.set(key, rebuilding);
    return rebuilding;
  }

  async #fill(tree: Tree): Promise<void> {
    const turns = await rebuildTree(this.#store, tree);
    const told = turns.map(({ path, spent, calls }) => ({
      path,
      tokens: Math.round(spent.tokens),
      cost: nano(spent.cost),
      calls,
    }));
    await this.#run(FILL, tree, [KEPT, JSON.stringify(told)]);
    this.#behind.delete(this.#key(tree));
  }

  /** Brings what this process knows up to date with the logs, now and then. */
  async #readLogs(tree: Tree): Promise<void> {
    const key = this.#key(tree);
    const readAt = this.#behind.get(key);
    if (readAt !== undefined && performance.now() - readAt < FRESH) return;
    this.#behind.set(key, performance.now());
    this.#local.merge(tree, await rebuildTree(this.#store, tree));
  }

  #run(script: RedisScript, tree: Tree, args: readonly RedisArgument[]): Promise<unknown> {
    return this.#redis.run(script, this.#key(tree), args);
  }

  #key({ root, turn }: Tree): string {
    return `${this.#prefix}:tree:${root}:${turn}`;
  }

  #tell(error: unknown): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#onProblem(`Redis is away, so limits of trees hold by their logs: ${messageOf(error)}`);
  }
}

/** Costs are counted in whole billionths, so that sums are exact in whatever order they come. */
const NANO = 1e9;
const nano = (cost: number): string => Math.round(cost * NANO).toFixed(0);

/**
 * Fields of a tree's hash: `ready`; of each turn `t:`, `c:` and `s:`, what it has spent of tokens, cost and
 * spawns with everything below it, and `ot:` and `oc:`, itself; `k:` for each call that was counted.
 */
const COMMON = `
local function number(key, field) return tonumber(redis.call('HGET', key, field) or '0') end

local function spend(key, path, tokens, cost)
  local own = path[#path]
  for _, what in ipairs({ { 't:', 'ot:', tokens }, { 'c:', 'oc:', cost } }) do
    local more = what[3] - number(key, what[2] .. own)
    if more > 0 then
      redis.call('HINCRBY', key, what[2] .. own, string.format('%.0f', more))
      for _, level in ipairs(path) do redis.call('HINCRBY', key, what[1] .. level, string.format('%.0f', more)) end
    end
  end
end

local function count(key, path, call)
  if redis.call('HSETNX', key, 'k:' .. path[#path] .. ' ' .. call, 1) == 0 then return end
  for _, level in ipairs(path) do redis.call('HINCRBY', key, 's:' .. level, 1) end
end
`;

/** Arguments: seconds to keep the tree, tokens, cost, path. */
const RECORD = redisScript(`${COMMON}
if redis.call('HEXISTS', KEYS[1], 'ready') == 0 then return ${MISSING} end
local path = {}
for index = 4, #ARGV do path[#path + 1] = ARGV[index] end
spend(KEYS[1], path, tonumber(ARGV[2]), tonumber(ARGV[3]))
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 0
`);

/** Argument: path. Answer: three numbers for each level. */
const SPENT = redisScript(`
if redis.call('HEXISTS', KEYS[1], 'ready') == 0 then return ${MISSING} end
local answer = {}
for _, level in ipairs(ARGV) do
  for _, what in ipairs({ 't:', 'c:', 's:' }) do
    answer[#answer + 1] = redis.call('HGET', KEYS[1], what .. level) or '0'
  end
end
return answer
`);

/** Arguments: seconds to keep the tree, call, then each level of the path with its limit or ''. */
const ADMIT = redisScript(`${COMMON}
local key, call = KEYS[1], ARGV[2]
if redis.call('HEXISTS', key, 'ready') == 0 then return ${MISSING} end
local path, limits = {}, {}
for index = 3, #ARGV, 2 do
  path[#path + 1] = ARGV[index]
  limits[#path] = tonumber(ARGV[index + 1])
end
if redis.call('HEXISTS', key, 'k:' .. path[#path] .. ' ' .. call) == 1 then return ${FREE} end
for index = #path, 1, -1 do
  if limits[index] and number(key, 's:' .. path[index]) >= limits[index] then return index - 1 end
end
count(key, path, call)
redis.call('EXPIRE', key, ARGV[1])
return ${FREE}
`);

/** Arguments: seconds to keep the tree, and its turns as JSON. */
const FILL = redisScript(`${COMMON}
for _, turn in ipairs(cjson.decode(ARGV[2])) do
  spend(KEYS[1], turn.path, tonumber(turn.tokens), tonumber(turn.cost))
  for _, call in ipairs(turn.calls) do count(KEYS[1], turn.path, call) end
end
redis.call('HSET', KEYS[1], 'ready', 1)
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 0
`);
