import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Budget, type Spent } from '../../src/core/budget.ts';
import type { Limits } from '../../src/core/limits.ts';

/** A level of a random tree: whose child it is (by position before it), and what it may spend. */
interface Level {
  parent: number;
  limits: Limits;
}

const limitsOf = fc.record(
  {
    steps: fc.integer({ min: 0, max: 8 }),
    tokens: fc.integer({ min: 0, max: 400 }),
    cost: fc.integer({ min: 0, max: 40 }),
    spawns: fc.integer({ min: 0, max: 6 }),
    depth: fc.integer({ min: 0, max: 4 }),
  },
  { requiredKeys: [] },
);

/** The first level is the root. A number picks the parent among the levels before. */
const trees = fc
  .array(fc.record({ pick: fc.nat(), limits: limitsOf }), { minLength: 1, maxLength: 12 })
  .map((levels) =>
    levels.map(({ pick, limits }, index): Level => ({ parent: index === 0 ? -1 : pick % index, limits })),
  );

/** Of a level picked by number: a step that takes so much. */
const charges = fc.array(
  fc.record({ pick: fc.nat(), tokens: fc.integer({ min: 0, max: 90 }), cost: fc.integer({ min: 0, max: 9 }) }),
  { maxLength: 60 },
);
type Charge = { pick: number; tokens: number; cost: number };

/** Children are let in as admission does it; a refused one, and all below it, is not there. */
function grow(levels: readonly Level[]): (Budget | undefined)[] {
  const budgets: (Budget | undefined)[] = [];
  for (const { parent, limits } of levels) {
    if (parent < 0) {
      budgets.push(new Budget(limits, { setBy: 'the root' }));
      continue;
    }
    const above = budgets[parent];
    if (!above || above.childRefused()) {
      budgets.push(undefined);
      continue;
    }
    above.charge({ spawns: 1 });
    budgets.push(new Budget(limits, { parent: above, setBy: 'a child' }));
  }
  return budgets;
}

/** Steps are taken as the middleware does it: asked for first, charged afterwards. */
function spend(budgets: readonly (Budget | undefined)[], all: readonly Charge[]): Spent[] {
  const own = budgets.map((): Spent => ({ steps: 0, tokens: 0, cost: 0, spawns: 0 }));
  for (const { pick, tokens, cost } of all) {
    const index = pick % budgets.length;
    const budget = budgets[index];
    if (!budget || budget.exhausted()) continue;
    budget.charge({ steps: 1, tokens, cost });
    const sum = own[index]!;
    own[index] = { ...sum, steps: sum.steps + 1, tokens: sum.tokens + tokens, cost: sum.cost + cost };
  }
  return own;
}

const isBelow = (levels: readonly Level[], index: number, top: number): boolean => {
  for (let at = index; at >= 0; at = levels[at]!.parent) if (at === top) return true;
  return false;
};

describe('a tree of budgets', () => {
  test('no level passes its limit by more than one step, and none its ceilings at all', () => {
    fc.assert(
      fc.property(trees, charges, (levels, all) => {
        const budgets = grow(levels);
        spend(budgets, all);
        const most = {
          tokens: Math.max(0, ...all.map((each) => each.tokens)),
          cost: Math.max(0, ...all.map((each) => each.cost)),
        };
        for (const [index, budget] of budgets.entries()) {
          if (!budget) continue;
          const { limits } = levels[index]!;
          expect(budget.spent.steps).toBeLessThanOrEqual(limits.steps ?? Infinity);
          expect(budget.spent.spawns).toBeLessThanOrEqual(limits.spawns ?? Infinity);
          expect(budget.spent.tokens).toBeLessThan((limits.tokens ?? Infinity) + Math.max(1, most.tokens));
          expect(budget.spent.cost).toBeLessThan((limits.cost ?? Infinity) + Math.max(1, most.cost));
        }
      }),
    );
  });

  test('depth is counted from every level that limits it', () => {
    fc.assert(
      fc.property(trees, (levels) => {
        const budgets = grow(levels);
        for (const [index, budget] of budgets.entries()) {
          if (!budget) continue;
          let distance = 0;
          for (let at = index; at >= 0; at = levels[at]!.parent) {
            expect(distance).toBeLessThanOrEqual(levels[at]!.limits.depth ?? Infinity);
            distance++;
          }
        }
      }),
    );
  });

  test('what a level has spent is its own and that of everything below it', () => {
    fc.assert(
      fc.property(trees, charges, (levels, all) => {
        const budgets = grow(levels);
        const own = spend(budgets, all);
        for (const [top, budget] of budgets.entries()) {
          if (!budget) continue;
          const below = own.filter((_, index) => isBelow(levels, index, top));
          const children = budgets.filter((other, index) => other && index !== top && isBelow(levels, index, top));
          expect(budget.spent).toEqual({
            steps: own[top]!.steps,
            tokens: below.reduce((sum, { tokens }) => sum + tokens, 0),
            cost: below.reduce((sum, { cost }) => sum + cost, 0),
            spawns: children.length,
          });
        }
      }),
    );
  });

  test('a child never has more room than its parent, whatever its own limits say', () => {
    fc.assert(
      fc.property(trees, charges, (levels, all) => {
        const budgets = grow(levels);
        spend(budgets, all);
        for (const [index, budget] of budgets.entries()) {
          const parent = budgets[levels[index]!.parent];
          if (!budget || !parent) continue;
          for (const which of ['tokens', 'cost'] as const) {
            expect(budget.room(which)?.left ?? Infinity).toBeLessThanOrEqual(parent.room(which)?.left ?? Infinity);
            const shared = parent.exhausted();
            if (shared?.which === which) expect(budget.exhausted()).toBeDefined();
          }
          expect(budget.depthLeft() ?? Infinity).toBeLessThanOrEqual((parent.depthLeft() ?? Infinity) - 1);
          if (parent.childRefused()?.which === 'spawns') expect(budget.childRefused()).toBeDefined();
        }
      }),
    );
  });

  test('cut anywhere and resumed with what was spent, it ends as an undisturbed one does', () => {
    fc.assert(
      fc.property(trees, charges, fc.nat(), (levels, all, cutAt) => {
        const cut = cutAt % (all.length + 1);
        const undisturbed = grow(levels);
        spend(undisturbed, all);

        const before = grow(levels);
        const own = spend(before, all.slice(0, cut));
        // Every session is resumed with its own part: its steps, its tokens, the children it started.
        const after: (Budget | undefined)[] = [];
        for (const [index, budget] of before.entries()) {
          const { parent, limits } = levels[index]!;
          const started = levels.filter((level, child) => level.parent === index && before[child]).length;
          const spent = { ...own[index]!, spawns: started };
          const above = after[parent];
          after.push(budget && new Budget(limits, { setBy: 'again', parent: above, spent }));
        }
        expect(after.map((budget) => budget?.spent)).toEqual(before.map((budget) => budget?.spent));
        spend(after, all.slice(cut));
        expect(after.map((budget) => budget?.spent)).toEqual(undisturbed.map((budget) => budget?.spent));
      }),
    );
  });

  test('says which limit it was and who set it: the nearest level first', () => {
    const root = new Budget(
      { tokens: 100, cost: 5, time: 60_000, spawns: 1, depth: 2 },
      { setBy: { tokens: '-e', cost: 'toml' } },
    );
    const child = new Budget({ steps: 3, tokens: 500, spawns: 9 }, { parent: root, setBy: 'the skill' });
    child.charge({ steps: 1, tokens: 100 });
    expect(child.exhausted()).toEqual({ which: 'tokens', limit: 100, setBy: '-e' });
    expect(child.room('tokens')).toEqual({ left: 0, hit: { which: 'tokens', limit: 100, setBy: '-e' } });
    child.charge({ steps: 2 });
    expect(child.exhausted()).toEqual({ which: 'steps', limit: 3, setBy: 'the skill' });
    expect(root.exhausted(Date.now() + 60_000)).toEqual({ which: 'tokens', limit: 100, setBy: '-e' });
    expect(new Budget({ time: 1_000 }, { setBy: 'x' }).exhausted(Date.now() + 1_000)).toMatchObject({ which: 'time' });
    child.charge({ spawns: 1 });
    expect(child.childRefused()).toEqual({ which: 'spawns', limit: 1, setBy: 'default' });
  });

  test('levels that have no budget here count for the depth', () => {
    const resumed = new Budget({ depth: 3 }, { above: 2 });
    expect(resumed.depthLeft()).toBe(1);
    expect(resumed.childRefused()).toBeUndefined();
    const child = new Budget({}, { parent: resumed });
    expect(child.depthLeft()).toBe(0);
    expect(child.childRefused()).toMatchObject({ which: 'depth', limit: 3 });
  });

  test('a limit that is no number of 0 or more is refused', () => {
    for (const steps of [-1, Number.NaN]) expect(() => new Budget({ steps })).toThrow('steps must be 0 or more');
  });
});
