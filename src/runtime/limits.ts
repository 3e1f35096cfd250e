import type { LoadedConfig } from '../config/cascade.ts';
import type { AgentConfig } from '../config/config.ts';
import { describePlace, type Place } from '../config/problems.ts';
import type { SetBy } from '../core/budget.ts';
import type { EventOf } from '../core/events.ts';
import type { LimitName, Limits } from '../core/limits.ts';
import { limitsOfStarted } from '../subagents/child-budget.ts';
import type { RuntimeOptions } from './options.ts';

/** The limits of root turns, each with who set it. */
export interface RootLimits {
  limits: Limits;
  setBy: Record<LimitName, string>;
}

const KEYS = {
  steps: 'max_steps',
  tokens: 'max_tokens',
  cost: 'max_cost',
  time: 'timeout',
  spawns: 'max_spawns',
  depth: 'max_depth',
} as const satisfies Record<LimitName, keyof AgentConfig>;

const NAMES = Object.keys(KEYS) as LimitName[];

/** `agent.max_steps, project file /a/reasonix.toml, line 3`. */
export function setByConfig({ sources }: Pick<LoadedConfig, 'sources'>, key: string): string {
  const place: Place = sources.get(key) ?? { tier: 'default' };
  // On the command line a key may go by its own name.
  return `${key}, ${describePlace(place.name === key ? { tier: place.tier } : place)}`;
}

/** Limits that the program was opened with, else those of the configuration. */
export function rootLimits(
  loaded: LoadedConfig,
  { limits: given = {}, limitsSetBy }: Pick<RuntimeOptions, 'limits' | 'limitsSetBy'>,
): RootLimits {
  const limits: Limits = {};
  const setBy = {} as Record<LimitName, string>;
  for (const name of NAMES) {
    limits[name] = given[name] ?? loaded.config.agent[KEYS[name]];
    setBy[name] = given[name] === undefined ? setByConfig(loaded, `agent.${KEYS[name]}`) : caller(limitsSetBy, name);
  }
  return { limits, setBy };
}

/** With those of one call in front. */
export function withOwn({ limits, setBy }: RootLimits, own: Limits): RootLimits {
  const both: RootLimits = { limits: { ...limits }, setBy: { ...setBy } };
  for (const name of NAMES) {
    if (own[name] === undefined) continue;
    both.limits[name] = own[name];
    both.setBy[name] = caller(undefined, name);
  }
  return both;
}

/** Whoever goes on with a child by itself: what its skill allows it is never more than that. */
export function withinStarted({ limits, setBy }: RootLimits, started: EventOf<'session.started'>): RootLimits {
  const within: RootLimits = { limits: { ...limits }, setBy: { ...setBy } };
  const own = limitsOfStarted({ started });
  for (const name of NAMES) {
    const value = own.limits[name];
    if (value === undefined) continue;
    // Levels are counted from the root, of which a child is some way down already.
    const limit = name === 'depth' ? value + started.depth : value;
    if (limit >= (limits[name] ?? Number.POSITIVE_INFINITY)) continue;
    within.limits[name] = limit;
    within.setBy[name] = own.setBy[name] ?? within.setBy[name];
  }
  return within;
}

const caller = (setBy: SetBy | undefined, name: LimitName): string =>
  (typeof setBy === 'string' ? setBy : setBy?.[name]) ?? 'the caller';
