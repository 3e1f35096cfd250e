import { describe, expect, it, onTestFinished } from 'vitest';
import { redisLedger } from '../../src/engines/redis-ledger.ts';
import { openRedisScripts, type RedisScripts } from '../../src/engines/redis-scripts.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { TreeLedger } from '../../src/subagents/tree-ledger.ts';
import { emptiedRedis } from '../helpers/emptied-redis.ts';
import { hasRedis } from '../helpers/redis.ts';
import { LoggedTree, levelsBy, levelsOf } from '../subagents/logged-tree.ts';

describe.skipIf(!hasRedis())('a ledger in Redis', () => {
  const own = emptiedRedis();

  /** A tree, and two processes' ledgers that are asked in turn. */
  async function open() {
    const problems: string[] = [];
    const ledgers: TreeLedger[] = [];
    let asked = 0;
    const acted = new LoggedTree(() => ledgers[asked++ % 2]!);
    for (let count = 0; count < 2; count++) {
      const redis = await openRedisScripts(own.server.url);
      onTestFinished(() => redis.close());
      ledgers.push(redisLedger({ redis, store: acted.store, onProblem: (text) => problems.push(text) }));
    }
    return { acted, problems, ledgers: ledgers as [TreeLedger, TreeLedger] };
  }

  /** Work of several turns at once; `meanwhile` is called in the middle of it. */
  async function work(acted: LoggedTree, meanwhile: () => Promise<unknown> = async () => {}): Promise<void> {
    const root = acted.turns[0] ?? (await acted.begin());
    const children = [await acted.spawn(root, 'elsewhere'), await acted.spawn(root, 'elsewhere')];
    const grandchild = await acted.spawn(children[0]!, 'elsewhere');
    const here = await acted.spawn(children[1]!, 'here');
    const all = [...children, grandchild, here];
    const runs = all.map(async (turn, index) => {
      for (let step = 1; step <= 12; step++) await acted.step(turn, step + index, index);
    });
    await Promise.all([...runs, meanwhile()]);
    for (const turn of all.reverse()) await acted.end(turn);
    await acted.spawn(root, 'elsewhere', children[0]);
    await acted.step(root, 3, 0.25);
  }

  it('counts for all processes what the sums over the turns are', async () => {
    const { acted, problems, ledgers } = await open();
    await work(acted);
    for (const ledger of ledgers) expect(await levelsBy(ledger, acted)).toEqual(levelsOf(acted));
    expect(problems).toEqual([]);
    const [key = ''] = await own.admin.keys('*');
    expect(key).toBe(`reasonix:tree:${acted.tree.root}:${acted.tree.turn}`);
    expect(await own.admin.ttl(key)).toBeGreaterThan(7 * 24 * 3600 - 60);
  });

  it('is rebuilt from the logs when it was flushed in the middle of the work, and counts nothing twice', async () => {
    const { acted, problems, ledgers } = await open();
    await work(acted, async () => {
      // A third one could come between all attempts of a single step.
      for (let flush = 0; flush < 2; flush++) {
        await new Promise((resolve) => setTimeout(resolve, 3));
        await own.admin.flushall();
      }
    });
    expect(await levelsBy(ledgers[0], acted)).toEqual(levelsOf(acted));
    await own.admin.flushall();
    expect(await levelsBy(ledgers[1], acted)).toEqual(levelsOf(acted));
    expect(problems).toEqual([]);
  });

  it('lets exactly as many children in as there may be, whoever asks at once', async () => {
    const { acted, ledgers } = await open();
    const root = await acted.begin();
    const child = await acted.spawn(root, 'elsewhere');
    const admit = (call: number) => ledgers[call % 2]!.admit(acted.tree, child.path, `c${call % 20}`, [8, undefined]);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, call) => admit(call)));
    // Seven beside the child itself; each call is asked for twice.
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(14);
    expect(answers.filter((answer) => answer === 0)).toHaveLength(26);
    const [spent] = await ledgers[0].spent(acted.tree, child.path);
    expect(spent?.spawns).toBe(8);
    expect(await ledgers[0].admit(acted.tree, child.path, 'other', [undefined, 7])).toBe(1);
  });

  it('goes by the logs while Redis is away, says so once, and is whole when it is back', {
    timeout: 30_000,
  }, async () => {
    const { acted, problems, ledgers } = await open();
    await work(acted);
    await own.server.kill();
    await work(acted);
    // What others do is known when the logs are read the next time.
    await expect.poll(() => levelsBy(ledgers[0], acted), { timeout: 10_000 }).toEqual(levelsOf(acted));
    expect(await ledgers[0].admit(acted.tree, acted.turns[0]!.path, 'more', [acted.turns.length - 1])).toBe(0);
    expect(problems).toEqual(Array(2).fill(expect.stringContaining('away')));
    await own.server.start();
    await expect.poll(() => own.admin.status, { timeout: 10_000 }).toBe('ready');
    await expect.poll(() => levelsBy(ledgers[0], acted), { timeout: 10_000 }).toEqual(levelsOf(acted));
    const isBack = async () => {
      await levelsBy(ledgers[0], acted);
      return own.admin.exists(`reasonix:tree:${acted.tree.root}:${acted.tree.turn}`);
    };
    await expect.poll(isBack, { timeout: 10_000 }).toBe(1);
    expect(await levelsBy(ledgers[1], acted)).toEqual(levelsOf(acted));
  });

  it('tells Redis what was logged while it could not be reached', async () => {
    const redis = await openRedisScripts(own.server.url);
    onTestFinished(() => redis.close());
    let isCut = false;
    const cut: RedisScripts = {
      ...redis,
      run: (...step) => (isCut ? Promise.reject(new Error('no route')) : redis.run(...step)),
    };
    const acted: LoggedTree = new LoggedTree(() => ledger);
    const ledger = redisLedger({ redis: cut, store: acted.store });
    await work(acted);
    isCut = true;
    await work(acted);
    isCut = false;
    expect(await levelsBy(ledger, acted)).toEqual(levelsOf(acted));
  });

  it('has nothing to say of a tree that has no log', async () => {
    const redis = await openRedisScripts(own.server.url);
    onTestFinished(() => redis.close());
    const ledger = redisLedger({ redis, store: memoryStore() });
    expect(await ledger.spent({ root: 'none', turn: 1 }, ['none:1'])).toEqual([{ tokens: 0, cost: 0, spawns: 0 }]);
  });
});
