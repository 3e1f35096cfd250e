import type { ConfigValue } from './key-spec.ts';
import type { Place, Tier } from './problems.ts';

/** One key set in one place. */
export interface Assignment extends Place {
  /** Segments of the dotted key. */
  key: readonly string[];
  value: ConfigValue;
}

/** What one file, the environment or the command line sets; within it every key once. */
export interface Layer {
  tier: Tier;
  path?: string | undefined;
  values: Map<string, Assignment>;
  /** By key: lists that are added to the value of whichever layer wins. */
  additions: Map<string, Assignment>;
  /** By skill name: `SKILL_<NAME>=0` and `=1`. */
  switches: Map<string, Assignment>;
}

export const newLayer = (tier: Tier, path?: string): Layer => ({
  tier,
  path,
  values: new Map(),
  additions: new Map(),
  switches: new Map(),
});

export const isEmptyLayer = (layer: Layer): boolean =>
  layer.values.size === 0 && layer.additions.size === 0 && layer.switches.size === 0;
