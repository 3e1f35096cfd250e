import { join } from 'node:path';
import { ReasonixError } from '../core/errors.ts';
import { packageRoot } from '../core/prompts.ts';

/** From the strongest to the weakest. */
export const TIERS = ['flag', 'environment', 'profile', 'project', 'user', 'default'] as const;
export type Tier = (typeof TIERS)[number];

/** Where a value stands. `name` is the spelling used, when it is not the dotted key. */
export interface Place {
  tier: Tier;
  path?: string | undefined;
  line?: number | undefined;
  name?: string | undefined;
}

export interface Problem extends Place {
  message: string;
}

/** Something worth telling that stops nothing. */
export interface ConfigNote {
  message: string;
  path?: string | undefined;
  line?: number | undefined;
}

const TIER_LABEL: Record<Tier, string> = {
  flag: 'command line',
  environment: 'environment',
  profile: 'profile',
  project: 'project',
  user: 'user',
  default: 'default',
};

/** `project file /a/reasonix.toml, line 3`, `environment variable X`, `command line, X`. */
export function describePlace(place: Place): string {
  if (place.path !== undefined) {
    return `${TIER_LABEL[place.tier]} file ${place.path}${place.line === undefined ? '' : `, line ${place.line}`}`;
  }
  if (place.tier === 'environment') return `environment variable ${place.name ?? '?'}`;
  return place.name === undefined ? TIER_LABEL[place.tier] : `${TIER_LABEL[place.tier]}, ${place.name}`;
}

// No command can be named that shows the keys: until the mistake is gone, each ends with the same error.
const SEE_KEYS = `every key stands with its default in ${join(packageRoot, 'reasonix.example.toml')}`;

/** One error for all of `problems`, the first one first. */
export function configError(problems: readonly Problem[], cause?: unknown, hint = SEE_KEYS): ReasonixError {
  const lines = problems.map((problem) => `${describePlace(problem)}: ${problem.message}`);
  return new ReasonixError('config', lines.join('\n'), {
    cause,
    hint,
    details: { problems: problems.map(({ tier, path, line, name, message }) => ({ tier, path, line, name, message })) },
  });
}

export function throwIfAny(problems: readonly Problem[]): void {
  if (problems.length > 0) throw configError(problems);
}
