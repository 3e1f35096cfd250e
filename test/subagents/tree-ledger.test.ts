import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Budget } from '../../src/core/budget.ts';
import { rebuildTree } from '../../src/subagents/rebuild-tree.ts';
import { ledgerOf, MemoryLedger } from '../../src/subagents/tree-ledger.ts';
import { budgetStep, LoggedTree, levelsBy, levelsOf } from './logged-tree.ts';

/** What happens in a tree; the numbers pick turns and amounts. */
const deeds = fc.array(
  fc.record({
    what: fc.constantFrom('step', 'step', 'compact', 'spawn', 'spawn', 'here', 'continue', 'fork', 'end'),
    pick: fc.nat(99),
    other: fc.nat(99),
    amount: fc.integer({ min: 0, max: 50 }),
  }),
  { maxLength: 30 },
);
type Deeds = typeof deeds extends fc.Arbitrary<infer T> ? T : never;

async function act(acted: LoggedTree, all: Deeds, afterEach: () => Promise<void> = async () => {}): Promise<void> {
  await acted.begin();
  for (const { what, pick, other, amount } of all) {
    const open = acted.turns.filter((turn) => turn.open);
    const turn = open[pick % open.length]!;
    const done = acted.turns.filter((each) => !each.open);
    const source = done[other % done.length];
    if (what === 'step') await acted.step(turn, amount, amount % 7);
    else if (what === 'compact') await acted.compact(turn, amount);
    else if (what === 'spawn') await acted.spawn(turn, 'elsewhere');
    else if (what === 'here') await acted.spawn(turn, 'here');
    else if (what === 'end') {
      if (turn.parent && !open.some(({ parent }) => parent?.turn === turn)) await acted.end(turn);
    } else if (source && !open.some(({ session }) => session === source.session)) {
      await acted.spawn(turn, 'elsewhere', source, what === 'fork');
    }
    await afterEach();
  }
}

describe('the ledger of a tree', () => {
  it('counts what the sums over its turns are, and so do the logs', async () => {
    await fc.assert(
      fc.asyncProperty(deeds, async (all) => {
        const ledger = new MemoryLedger();
        const acted = new LoggedTree(() => ledger);
        await act(acted, all);
        expect(await levelsBy(ledger, acted)).toEqual(levelsOf(acted));
        const rebuilt = new MemoryLedger();
        rebuilt.merge(acted.tree, await rebuildTree(acted.store, acted.tree));
        expect(await levelsBy(rebuilt, acted)).toEqual(levelsOf(acted));
      }),
      { numRuns: 150 },
    );
  });

  it('counts nothing twice that a rebuild in the middle brings in, or that comes late', async () => {
    await fc.assert(
      fc.asyncProperty(deeds, fc.array(fc.nat(30), { maxLength: 3 }), async (all, losses) => {
        let ledger = new MemoryLedger();
        const acted = new LoggedTree(() => ledger);
        let count = 0;
        await act(acted, all, async () => {
          if (!losses.includes(count++)) return;
          // Others go on while the logs are read, and tell the new ledger first.
          const reading = rebuildTree(acted.store, acted.tree);
          ledger = new MemoryLedger();
          await acted.step(acted.turns[0]!, 5, 1);
          ledger.merge(acted.tree, await reading);
        });
        for (const { path } of acted.turns) await ledger.record(acted.tree, path, { tokens: 0, cost: 0 });
        ledger.merge(acted.tree, await rebuildTree(acted.store, acted.tree));
        expect(await levelsBy(ledger, acted)).toEqual(levelsOf(acted));
      }),
      { numRuns: 100 },
    );
  });

  it('lets exactly as many children in as the narrowest level may have, each call once', async () => {
    const ledger = new MemoryLedger();
    const tree = { root: 'r', turn: 1 };
    const path = ['r:1', 'a:1'];
    const admit = (call: string, own: number) => ledger.admit(tree, path, call, [5, own]);
    expect(await Promise.all(['c1', 'c2', 'c1', 'c2'].map((call) => admit(call, 2)))).toEqual(Array(4).fill(undefined));
    expect(await admit('c3', 2)).toBe(1);
    for (const call of ['c3', 'c4', 'c5']) expect(await admit(call, 9)).toBe(undefined);
    expect(await admit('c6', 9)).toBe(0);
    expect(await admit('c1', 2)).toBe(undefined);
    expect(await ledger.spent(tree, path)).toEqual(Array(2).fill({ tokens: 0, cost: 0, spawns: 5 }));
  });
});

describe('budgets of several processes over one ledger', () => {
  const levels = [
    { session: 'r', turn: 1, limits: { tokens: 1_000, spawns: 7 }, setBy: { tokens: 'the root', spawns: 'the root' } },
    { session: 'a', turn: 1, limits: { tokens: 700 }, setBy: { tokens: 'a' } },
  ];

  /** A turn below `levels`, as a process builds it that knows nothing else. */
  function budgetOf(ledger: MemoryLedger, session: string, turn = 1): Budget {
    const parent = levels.reduce<Budget | undefined>(
      (above, { limits, setBy }) => new Budget(limits, { parent: above, setBy }),
      undefined,
    );
    return new Budget({}, { parent, setBy: 'own', ledger: ledgerOf(ledger, [...levels, { session, turn }]) });
  }

  it('pass a shared limit by one step a session at most', async () => {
    const ledger = new MemoryLedger();
    const running = Array.from({ length: 6 }, (_, index) => ({ session: `s${index}`, turn: 1, tokens: 0 }));
    await Promise.all(
      running.map(async (turn) => {
        const budget = budgetOf(ledger, turn.session);
        while (await budgetStep(budget, turn, 30));
        expect(budget.exhausted()).toEqual({ which: 'tokens', limit: 700, setBy: 'a' });
        expect(budget.room('tokens')?.left).toBe(0);
      }),
    );
    const [root, middle] = await ledger.spent({ root: 'r', turn: 1 }, ['r:1', 'a:1']);
    expect(middle?.tokens).toBeGreaterThanOrEqual(700);
    expect(middle?.tokens).toBeLessThan(700 + 6 * 30);
    expect(root).toEqual(middle);
  });

  it('let in exactly as many children as the root may have', async () => {
    const ledger = new MemoryLedger();
    const budgets = [1, 2].map((turn) => budgetOf(ledger, 's', turn));
    const hits = await Promise.all(
      Array.from({ length: 20 }, (_, call) =>
        budgets[call % 2]!.admit({ session: 's', turn: 1 + (call % 2) }, `c${call}`),
      ),
    );
    expect(hits.filter((hit) => hit === undefined)).toHaveLength(7);
    expect(hits.filter((hit) => hit)).toEqual(Array(13).fill({ which: 'spawns', limit: 7, setBy: 'the root' }));
    await budgets[0]!.refresh();
    expect(budgets[0]!.childRefused()).toMatchObject({ which: 'spawns' });
  });

  it('charge what a turn has used before it went on here once', async () => {
    const ledger = new MemoryLedger();
    const before = { session: 's', turn: 1, tokens: 0 };
    await budgetStep(budgetOf(ledger, 's'), before, 400);
    const parent = new Budget({ tokens: 1_000 });
    const known = ledgerOf(ledger, [...levels, before]);
    const after = new Budget(
      {},
      { parent: new Budget({}, { parent }), spent: { tokens: 400, steps: 1 }, ledger: known },
    );
    await after.refresh();
    expect(after.room('tokens')?.left).toBe(600);
    await budgetStep(after, before, 100);
    await after.refresh();
    expect(after.room('tokens')?.left).toBe(500);
  });

  it('count what runs below them in the same process', async () => {
    const ledger = new MemoryLedger();
    const parent = budgetOf(ledger, 's');
    const child = new Budget({ spawns: 1 }, { parent, setBy: 'the child' });
    await budgetStep(child, { session: 'c', turn: 2, tokens: 0 }, 650);
    const other = budgetOf(ledger, 'o');
    await other.refresh();
    expect(other.room('tokens')?.left).toBe(50);
    expect(await child.admit({ session: 'c', turn: 2 }, 'x')).toBe(undefined);
    child.charge({ spawns: 1 });
    expect(await child.admit({ session: 'c', turn: 2 }, 'y')).toEqual({
      which: 'spawns',
      limit: 1,
      setBy: 'the child',
    });
    await other.refresh();
    expect((await ledger.spent({ root: 'r', turn: 1 }, ['r:1']))[0]).toMatchObject({ tokens: 650, spawns: 1 });
  });

  it('are as they were without a ledger', async () => {
    const budget = new Budget({ tokens: 10, spawns: 1 }, { setBy: 'x' });
    expect(budget.isShared).toBe(false);
    await budget.refresh();
    await budget.record({ session: 's', turn: 1 }, { tokens: 99, cost: 0 });
    expect(budget.exhausted()).toBe(undefined);
    expect(await budget.admit({ session: 's', turn: 1 }, 'c')).toBe(undefined);
    expect(budget.spent.spawns).toBe(0);
    budget.charge({ spawns: 1 });
    expect(await budget.admit({ session: 's', turn: 1 }, 'c')).toEqual({ which: 'spawns', limit: 1, setBy: 'x' });
  });
});
