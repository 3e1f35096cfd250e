import type { BudgetLedger, SharedSpent, TurnName } from './budget-ledger.ts';
import { type LimitHit, type LimitName, LimitReached, type Limits } from './limits.ts';
import { Reserved } from './reserved.ts';

/** What was spent. Time is derived from the clock, depth from the levels: neither is part of it. */
export type Spent = Omit<Required<{ [K in LimitName]: number }>, 'time' | 'depth'>;

/** What all sessions below a level draw on as they go. */
type Shared = 'tokens' | 'cost';

/** Who set the limits of a level: one name for all, or one a limit. */
export type SetBy = string | Partial<Record<LimitName, string>>;

const nameOf = (setBy: SetBy, which: LimitName): string =>
  typeof setBy === 'string' ? setBy : (setBy[which] ?? 'default');

export interface BudgetOptions {
  parent?: Budget | undefined;
  /** Who set the limits, as whoever hits one is told. Default `default`. */
  setBy?: SetBy | undefined;
  /** What an earlier part of the same turn used up, when the turn is resumed; the levels above pay for it, too. */
  spent?: Partial<Spent> | undefined;
  /** Levels of sessions above this one that have no budget here. Default 0. */
  above?: number | undefined;
  /** When its time began to count, epoch milliseconds. Default now. */
  startedAt?: number | undefined;
  /** Of the tree, where other processes run parts of it; it knows this level and all above. Default the parent's. */
  ledger?: BudgetLedger | undefined;
}

/**
 * A budget of one turn. A child's budget names its parent's: what the child spends is charged to
 * every level above at once, and the narrowest level decides. Levels only narrow.
 */
export class Budget {
  readonly #limits: Limits;
  readonly #parent: Budget | undefined;
  readonly #setBy: SetBy;
  readonly #above: number;
  readonly #startedAt: number;
  readonly spent: Spent;
  readonly #ledger: BudgetLedger | undefined;
  /** What the ledger knew of this level when it was last asked. */
  #known: SharedSpent = { tokens: 0, cost: 0, spawns: 0 };
  readonly #reserved = new Reserved();

  constructor(limits: Limits, options: BudgetOptions = {}) {
    for (const [name, value] of Object.entries(limits)) {
      if (value !== undefined && !(value >= 0)) {
        throw new RangeError(`limit ${name} must be 0 or more, but it is ${value}`);
      }
    }
    this.#limits = limits;
    this.#parent = options.parent;
    this.#setBy = options.setBy ?? 'default';
    this.#above = options.above ?? 0;
    this.#startedAt = options.startedAt ?? Date.now();
    this.#ledger = options.ledger;
    this.spent = { steps: 0, tokens: 0, cost: 0, spawns: 0 };
    this.charge(options.spent ?? {});
  }

  /** True when this level or one above limits `which`. */
  limits(which: LimitName): boolean {
    return this.#limits[which] !== undefined || (this.#parent?.limits(which) ?? false);
  }

  /** Steps are a level's own; tokens, cost and spawns are charged up the tree. */
  charge(amount: Partial<Spent>): void {
    this.spent.steps += amount.steps ?? 0;
    for (let level: Budget | undefined = this; level; level = level.#parent) {
      level.spent.tokens += amount.tokens ?? 0;
      level.spent.cost += amount.cost ?? 0;
      level.spent.spawns += amount.spawns ?? 0;
    }
  }

  /** Takes back what was charged for something that is charged in another way now. */
  refund({ tokens = 0, cost = 0, spawns = 0 }: Partial<Spent>): void {
    this.charge({ tokens: -tokens, cost: -cost, spawns: -spawns });
  }

  /** True when other processes spend of this level or of one above: `refresh` says how much. */
  get isShared(): boolean {
    return this.#holder !== undefined;
  }

  /** Takes in what others have spent of the levels that the ledger knows. */
  async refresh(): Promise<void> {
    const holder = this.#holder;
    const known = (await holder?.ledger.spent()) ?? [];
    let index = known.length;
    for (let level = holder?.level; level && index > 0; level = level.#parent) {
      level.#known = known[--index] ?? level.#known;
    }
  }

  /** Tells the ledger what a turn, this level's or one below it, has spent itself so far, children left out. */
  async record(turn: TurnName, spent: Omit<SharedSpent, 'spawns'>): Promise<void> {
    await this.#holder?.ledger.record(turn, spent);
  }

  /**
   * Has the ledger count a child of this level, once for each call of its turn. The ceiling that keeps it from
   * starting, of depth or of spawns, over all processes; without a ledger this one's, and nothing is counted.
   */
  async admit(turn: TurnName, call: string): Promise<LimitHit | undefined> {
    const holder = this.#holder;
    if (!holder) return this.childRefused();
    const deep = this.#tooDeep();
    if (deep) return deep;
    const levels = [...this.#upwards()].map(({ level }) => level);
    const own = levels.slice(0, levels.indexOf(holder.level));
    const shared = levels.slice(own.length).reverse();
    const limits = shared.map((level) => level.#limits.spawns);
    const isFull = (level: Budget) => level.spent.spawns >= (level.#limits.spawns ?? Infinity);
    const full = own.find(isFull) ?? shared[(await holder.ledger.admit(turn, call, limits)) ?? shared.length];
    return full === undefined ? undefined : full.#hit('spawns', full.#limits.spawns ?? 0);
  }

  /**
   * Sets aside what a model call may use of tokens and cost, here and above, until the function that it gives is
   * called. What would not fit beside calls that are under way waits for their ends, so that of many sessions
   * that share a limit only one goes on into it. @throws LimitReached when nothing is left; the signal's reason.
   */
  async reserve(amount: Readonly<Record<Shared, number>>, signal: AbortSignal): Promise<() => void> {
    for (;;) {
      signal.throwIfAborted();
      const hit = this.#usedUp();
      if (hit) throw new LimitReached(hit);
      const full = this.#full();
      if (!full) break;
      await full.#reserved.nextEnd(signal);
    }
    return this.#add(amount);
  }

  /** As `reserve`, for what can be done without: nothing, at once, where it does not fit beside calls under way. */
  setAside(amount: Readonly<Record<Shared, number>>): (() => void) | undefined {
    const fits = (which: Shared) => amount[which] < (this.room(which, 0)?.left ?? Infinity);
    return fits('tokens') && fits('cost') ? this.#add(amount) : undefined;
  }

  /** As `reserve`, for the step that a limit of this level grants: those above it hold. */
  async reserveAbove(amount: Readonly<Record<Shared, number>>, signal: AbortSignal): Promise<() => void> {
    return this.#parent?.reserve(amount, signal) ?? (() => {});
  }

  /** Tokens or cost that a level above this one has used up: it grants no step to this one. */
  usedUpAbove(): LimitHit | undefined {
    const above = this.#parent;
    return above === undefined ? undefined : above.#usedUp();
  }

  /** The first limit that leaves no room for one more step, at this level or above. */
  exhausted(now = Date.now()): LimitHit | undefined {
    return this.#reached('steps', now) ?? this.usedUp(now);
  }

  /** The first limit of those that a level shares with its children, when nothing is left of it. */
  usedUp(now = Date.now()): LimitHit | undefined {
    return this.#usedUp() ?? this.#reached('time', now);
  }

  /** The ceiling of depth or of spawns, when one more child of this level would pass it. */
  childRefused(): LimitHit | undefined {
    return this.#tooDeep() ?? this.#reached('spawns', Date.now());
  }

  /** Levels of children that there may be below this one; `undefined` without a limit. */
  depthLeft(): number | undefined {
    let least: number | undefined;
    for (const { level, distance } of this.#upwards()) {
      if (level.#limits.depth === undefined) continue;
      const left = Math.max(0, level.#limits.depth - distance);
      least = least === undefined ? left : Math.min(least, left);
    }
    return least;
  }

  /**
   * What the narrowest level leaves of `which`, and that level's limit; `undefined` without one. With `own`, what
   * the caller has reserved itself, the reservations of others are not left.
   */
  room(which: Shared, own?: number): { left: number; hit: LimitHit } | undefined {
    let narrowest: { left: number; hit: LimitHit } | undefined;
    for (const { level } of this.#upwards()) {
      const limit = level.#limits[which];
      if (limit === undefined) continue;
      const taken = level.#used(which) + (own === undefined ? 0 : level.#reserved[which] - own);
      const left = Math.max(0, limit - taken);
      if (!narrowest || left < narrowest.left) narrowest = { left, hit: level.#hit(which, limit) };
    }
    return narrowest;
  }

  /** Milliseconds until the nearest deadline of any level, or `undefined` without one. */
  remainingTime(): number | undefined {
    const now = Date.now();
    let nearest: number | undefined;
    for (let level: Budget | undefined = this; level; level = level.#parent) {
      if (level.#limits.time === undefined) continue;
      const left = level.#limits.time - (now - level.#startedAt);
      nearest = nearest === undefined ? left : Math.min(nearest, left);
    }
    return nearest;
  }

  #add(amount: Readonly<Record<Shared, number>>): () => void {
    for (const { level } of this.#upwards()) level.#reserved.add(amount);
    return () => {
      for (const { level } of this.#upwards()) level.#reserved.giveBack(amount);
    };
  }

  /** The nearest level, from this one upwards, that has a ledger. */
  get #holder(): { level: Budget; ledger: BudgetLedger } | undefined {
    for (let level: Budget | undefined = this; level; level = level.#parent) {
      if (level.#ledger) return { level, ledger: level.#ledger };
    }
    return undefined;
  }

  #used(which: keyof SharedSpent): number {
    return Math.max(this.spent[which], this.#known[which]);
  }

  #usedOf(which: Exclude<LimitName, 'depth'>, now: number): number {
    if (which === 'time') return now - this.#startedAt;
    return which === 'steps' ? this.spent.steps : this.#used(which);
  }

  #usedUp(): LimitHit | undefined {
    return this.#reached('tokens', 0) ?? this.#reached('cost', 0);
  }

  /** A level that calls under way may use up. */
  #full(): Budget | undefined {
    for (const { level } of this.#upwards()) {
      const isFull = (which: Shared) =>
        level.#reserved[which] > 0 && level.#used(which) + level.#reserved[which] >= (level.#limits[which] ?? Infinity);
      if (isFull('tokens') || isFull('cost')) return level;
    }
    return undefined;
  }

  #reached(which: Exclude<LimitName, 'depth'>, now: number): LimitHit | undefined {
    for (let level: Budget | undefined = this; level; level = level.#parent) {
      const limit = level.#limits[which];
      if (limit !== undefined && level.#usedOf(which, now) >= limit) return level.#hit(which, limit);
      if (which === 'steps') return undefined;
    }
    return undefined;
  }

  #tooDeep(): LimitHit | undefined {
    for (const { level, distance } of this.#upwards()) {
      const limit = level.#limits.depth;
      if (limit !== undefined && distance >= limit) return level.#hit('depth', limit);
    }
    return undefined;
  }

  /** This level and those above it, each with the levels of sessions between it and this one. */
  *#upwards(): Generator<{ level: Budget; distance: number }> {
    let distance = 0;
    for (let level: Budget | undefined = this; level; level = level.#parent) {
      distance += level.#above;
      yield { level, distance };
      distance++;
    }
  }

  #hit(which: LimitName, limit: number): LimitHit {
    return { which, limit, setBy: nameOf(this.#setBy, which) };
  }
}
