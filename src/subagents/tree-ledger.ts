import type { BudgetLedger, SharedSpent, TurnName } from '../core/budget-ledger.ts';

/** One turn of a root with everything that it starts. */
export interface Tree {
  root: string;
  /** Sequence number of the message that began the root's turn: a new turn counts anew. */
  turn: number;
}

/** What a turn has spent itself. */
export type TurnSpent = Omit<SharedSpent, 'spawns'>;

/**
 * What the turns of a tree have spent, shared by all processes that run parts of it. A `path` is the turns
 * from the root's to a session's own, each by its `turnKey`: the levels whose limits hold for that session.
 */
export interface TreeLedger {
  /**
   * Says what the last turn of `path` has spent itself so far, without its children: an absolute number, so
   * that repeated and late calls never count twice.
   */
  record(tree: Tree, path: readonly string[], spent: TurnSpent): Promise<void>;
  /** What each level of `path` has spent, everything below it included; aligned with it. */
  spent(tree: Tree, path: readonly string[]): Promise<SharedSpent[]>;
  /**
   * Counts one child of the last turn of `path`, once for each `call` however often it is asked. `undefined`
   * when it may start, else the index of the innermost level whose limit is reached. `limits` are aligned
   * with `path`. Atomic over all processes.
   */
  admit(
    tree: Tree,
    path: readonly string[],
    call: string,
    limits: readonly (number | undefined)[],
  ): Promise<number | undefined>;
}

/** What a ledger calls a turn: a session that is continued has a level of its own for each. */
export const turnKey = ({ session, turn }: TurnName): string => `${session}:${turn}`;

/**
 * The ledger of a tree as the budget of one of its turns uses it; `levels` are the turns from the root's to
 * that one. What a turn spends that runs in the same process below it is a level of its own.
 */
export function ledgerOf(ledger: TreeLedger, levels: readonly TurnName[]): BudgetLedger {
  const [root] = levels;
  if (!root) throw new RangeError('a ledger of a turn needs its levels, the root first');
  const tree = { root: root.session, turn: root.turn };
  const path = levels.map(turnKey);
  const pathTo = (turn: TurnName) => (turnKey(turn) === path.at(-1) ? path : [...path, turnKey(turn)]);
  return {
    spent: () => ledger.spent(tree, path),
    record: (turn, spent) => ledger.record(tree, pathTo(turn), spent),
    admit: (turn, call, limits) => ledger.admit(tree, pathTo(turn), call, limits),
  };
}

/** What the logs say of one turn of a tree. */
export interface LoggedTurn {
  path: readonly string[];
  spent: TurnSpent;
  /** Calls that started or continued a child. */
  calls: readonly string[];
}

/** Trees that are kept in memory; the least recently used goes first. */
const MOST_TREES = 1_000;

/** A ledger for the runs of one process. */
export class MemoryLedger implements TreeLedger {
  readonly #trees = new Map<string, TreeSpent>();

  async record(tree: Tree, path: readonly string[], spent: TurnSpent): Promise<void> {
    this.#of(tree).record(path, spent);
  }

  async spent(tree: Tree, path: readonly string[]): Promise<SharedSpent[]> {
    const found = this.#of(tree);
    return path.map((key) => found.level(key));
  }

  async admit(
    tree: Tree,
    path: readonly string[],
    call: string,
    limits: readonly (number | undefined)[],
  ): Promise<number | undefined> {
    return this.#of(tree).admit(path, call, limits);
  }

  /** Takes in what the logs say; what is known already stays counted once. */
  merge(tree: Tree, turns: readonly LoggedTurn[]): void {
    const found = this.#of(tree);
    for (const { path, spent, calls } of turns) {
      found.record(path, spent);
      for (const call of calls) found.admit(path, call, []);
    }
  }

  #of(tree: Tree): TreeSpent {
    const key = turnKey({ session: tree.root, turn: tree.turn });
    const found = this.#trees.get(key) ?? new TreeSpent();
    this.#trees.delete(key);
    this.#trees.set(key, found);
    if (this.#trees.size > MOST_TREES) this.#trees.delete(this.#trees.keys().next().value ?? '');
    return found;
  }
}

class TreeSpent {
  readonly #levels = new Map<string, SharedSpent>();
  readonly #own = new Map<string, TurnSpent>();
  readonly #calls = new Set<string>();

  level(key: string): SharedSpent {
    return { ...(this.#levels.get(key) ?? { tokens: 0, cost: 0, spawns: 0 }) };
  }

  record(path: readonly string[], { tokens, cost }: TurnSpent): void {
    const own = path.at(-1) ?? '';
    const before = this.#own.get(own) ?? { tokens: 0, cost: 0 };
    const after = { tokens: Math.max(before.tokens, tokens), cost: Math.max(before.cost, cost) };
    this.#own.set(own, after);
    this.#add(path, { tokens: after.tokens - before.tokens, cost: after.cost - before.cost, spawns: 0 });
  }

  admit(path: readonly string[], call: string, limits: readonly (number | undefined)[]): number | undefined {
    const counted = `${path.at(-1)} ${call}`;
    if (this.#calls.has(counted)) return undefined;
    const full = path.findLastIndex((key, index) => this.level(key).spawns >= (limits[index] ?? Infinity));
    if (full >= 0) return full;
    this.#calls.add(counted);
    this.#add(path, { tokens: 0, cost: 0, spawns: 1 });
    return undefined;
  }

  #add(path: readonly string[], more: SharedSpent): void {
    for (const key of path) {
      const { tokens, cost, spawns } = this.level(key);
      this.#levels.set(key, { tokens: tokens + more.tokens, cost: cost + more.cost, spawns: spawns + more.spawns });
    }
  }
}
