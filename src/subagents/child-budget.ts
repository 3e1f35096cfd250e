import type { Spent } from '../core/budget.ts';
import type { LimitName, Limits } from '../core/limits.ts';
import { totalTokens } from '../core/usage.ts';
import type { OpenTurn, Thread } from '../session/thread.ts';
import type { Skill, SkillLimits } from '../skills/types.ts';

const KEYS: readonly [name: LimitName, limit: keyof SkillLimits, key: string][] = [
  ['steps', 'maxSteps', 'max-steps'],
  ['tokens', 'maxTokens', 'max-tokens'],
  ['cost', 'maxCost', 'max-cost'],
  ['time', 'timeout', 'timeout'],
  ['spawns', 'maxSpawns', 'max-spawns'],
  ['depth', 'maxDepth', 'max-depth'],
];

/** The limits of a child by its skill, each with who set it; `steps` holds where the skill is silent. */
export function limitsOf(
  skill: Skill,
  steps: { limit: number; setBy: string },
): { limits: Limits; setBy: Partial<Record<LimitName, string>> } {
  const where = skill.scope === 'builtin' ? '' : `, ${skill.file}`;
  const limits: Limits = { steps: steps.limit };
  const setBy: Partial<Record<LimitName, string>> = { steps: steps.setBy };
  for (const [name, limit, key] of KEYS) {
    if (skill.limits[limit] === undefined) continue;
    limits[name] = skill.limits[limit];
    setBy[name] = `${key} of the skill ${skill.name}${where}`;
  }
  return { limits, setBy };
}

/** The limits that a child was started with, for one whose skill may be another one by now. */
export function limitsOfStarted(
  { started }: Pick<Thread, 'started'>,
  steps?: { limit: number; setBy: string },
): ReturnType<typeof limitsOf> {
  const limits: Limits = steps ? { steps: steps.limit } : {};
  const setBy: Partial<Record<LimitName, string>> = steps ? { steps: steps.setBy } : {};
  for (const [name, , key] of KEYS) {
    const limit = started?.budget[name];
    if (limit === undefined) continue;
    limits[name] = limit;
    setBy[name] = `${key} of the skill ${started?.skill?.name ?? ''}`;
  }
  return { limits, setBy };
}

/** What a turn has used so far, children that have ended included. */
export const spentIn = ({ steps, usage, childUsage, cost, childCost, spawns }: OpenTurn): Spent => ({
  steps,
  tokens: totalTokens(usage) + totalTokens(childUsage),
  cost: (cost ?? 0) + (childCost ?? 0),
  spawns,
});
