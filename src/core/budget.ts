import { ReasonixError } from './errors.ts';

/** The limits that a turn runs under. Absent means unlimited at this level. */
export interface Limits {
  /** Model calls. */
  steps?: number | undefined;
  /** Prompt and answer tokens, each once. */
  tokens?: number | undefined;
  /** In the currency of the price table. */
  cost?: number | undefined;
  /** Wall-clock milliseconds from the start of the turn. */
  time?: number | undefined;
  /** Child sessions started, over all levels below. */
  spawns?: number | undefined;
}

export type LimitName = keyof Limits;

/** Which limit was reached, how large it was, and who set it. */
export interface LimitHit {
  which: LimitName;
  limit: number;
  setBy: string;
}

/** How large a limit is, with its unit where it has one. */
export const limitText = ({ which, limit }: Pick<LimitHit, 'which' | 'limit'>): string =>
  which === 'time' ? `${limit / 1000} s` : String(limit);

/** Thrown where a limit leaves no room to go on; the turn then sums up. */
export class LimitReached extends ReasonixError {
  readonly hit: LimitHit;

  constructor(hit: LimitHit) {
    super('limit', `limit reached: ${hit.which} ${limitText(hit)} (set by ${hit.setBy})`);
    this.hit = hit;
  }
}

/** What was spent; `time` is derived from the clock and not part of it. */
export type Spent = Omit<Required<{ [K in LimitName]: number }>, 'time'>;

/** Who set the limits of a level: one name for all, or one a limit. */
export type SetBy = string | Partial<Record<LimitName, string>>;

const nameOf = (setBy: SetBy, which: LimitName): string =>
  typeof setBy === 'string' ? setBy : (setBy[which] ?? 'default');

/**
 * A budget of one turn. A child's budget names its parent's: what the child spends is charged to
 * every level above at once, and the narrowest level decides. Levels only narrow.
 */
export class Budget {
  readonly #limits: Limits;
  readonly #parent: Budget | undefined;
  readonly #setBy: SetBy;
  readonly #startedAt: number;
  readonly spent: Spent;

  /** `spent` is what an earlier part of the same turn used up, when the turn is resumed. */
  constructor(limits: Limits, options: { parent?: Budget | undefined; setBy?: SetBy; spent?: Partial<Spent> } = {}) {
    for (const [name, value] of Object.entries(limits)) {
      if (value !== undefined && !(value >= 0)) {
        throw new RangeError(`limit ${name} must be 0 or more, but it is ${value}`);
      }
    }
    this.#limits = limits;
    this.#parent = options.parent;
    this.#setBy = options.setBy ?? 'default';
    this.#startedAt = Date.now();
    this.spent = { steps: 0, tokens: 0, cost: 0, spawns: 0, ...options.spent };
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

  /** The first limit that leaves no room for one more step, at this level or above. */
  exhausted(now = Date.now()): LimitHit | undefined {
    for (const which of ['steps', 'tokens', 'cost', 'time'] as const) {
      const hit = this.#reached(which, now);
      if (hit) return hit;
    }
    return undefined;
  }

  /** The spawn ceiling, when one more child would pass it. */
  spawnsExhausted(): LimitHit | undefined {
    return this.#reached('spawns', Date.now());
  }

  /** Milliseconds until the nearest deadline of any level, or `undefined` without one. */
  remainingTime(now = Date.now()): number | undefined {
    let nearest: number | undefined;
    for (let level: Budget | undefined = this; level; level = level.#parent) {
      if (level.#limits.time === undefined) continue;
      const left = level.#limits.time - (now - level.#startedAt);
      nearest = nearest === undefined ? left : Math.min(nearest, left);
    }
    return nearest;
  }

  #reached(which: LimitName, now: number): LimitHit | undefined {
    for (let level: Budget | undefined = this; level; level = level.#parent) {
      const limit = level.#limits[which];
      if (limit === undefined) continue;
      const used = which === 'time' ? now - level.#startedAt : level.spent[which];
      if (used >= limit) return { which, limit, setBy: nameOf(level.#setBy, which) };
      if (which === 'steps') return undefined;
    }
    return undefined;
  }
}
