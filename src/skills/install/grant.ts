import { parseToolRules, type ToolRule } from '../../core/tool-rules.ts';
import { intersectRules } from '../tool-lists.ts';
import type { Skill, SkillLimits } from '../types.ts';

/** What a skill may do, as whoever installed it was shown; in a lock with these keys. */
export interface Grant {
  run_as: Skill['runAs'];
  /** Null: every tool of whoever runs it. */
  tools: string[] | null;
  disallowed_tools: string[];
  read_only: boolean;
  limits: SkillLimits;
}

export const grantOf = (skill: Skill): Grant => ({
  run_as: skill.runAs,
  tools: skill.allowedTools?.map(ruleText) ?? null,
  disallowed_tools: skill.disallowedTools.map(ruleText),
  read_only: skill.readOnly,
  limits: skill.limits,
});

export const ruleText = ({ tool, pattern }: ToolRule): string => (pattern === undefined ? tool : `${tool}(${pattern})`);

const rulesOf = (texts: readonly string[]): ToolRule[] => parseToolRules(texts).rules;

const LIMIT_KEYS = ['maxSteps', 'maxTokens', 'maxCost', 'timeout', 'maxDepth', 'maxSpawns'] as const;

/** Holds a skill to a grant: of both, the narrower. The skill itself is not changed. */
export function heldTo(skill: Skill, grant: Grant): Skill {
  const granted = grant.tools === null ? undefined : rulesOf(grant.tools);
  const limits: SkillLimits = {};
  for (const key of LIMIT_KEYS) {
    const both = [skill.limits[key], grant.limits[key]].filter((each): each is number => each !== undefined);
    if (both.length > 0) limits[key] = Math.min(...both);
  }
  return {
    ...skill,
    // inline it would have all that its caller has
    runAs: grant.run_as === 'subagent' ? 'subagent' : skill.runAs,
    allowedTools: bothAllow(skill.allowedTools, granted),
    disallowedTools: [...skill.disallowedTools, ...rulesOf(grant.disallowed_tools)],
    readOnly: skill.readOnly || grant.read_only,
    limits,
  };
}

function bothAllow(a: ToolRule[] | undefined, b: ToolRule[] | undefined): ToolRule[] | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : intersectRules(a, b);
}

/** Whether both allow the same, in whatever order limits are named. */
export function sameGrant(a: Grant, b: Grant): boolean {
  const text = (grant: Grant): string => {
    const { limits, ...rest } = bareGrant(grant);
    return JSON.stringify([rest, Object.entries(limits).sort()]);
  };
  return text(a) === text(b);
}

/** The grant alone of what holds more, as an entry of a lock does. */
export const bareGrant = ({ run_as, tools, disallowed_tools, read_only, limits }: Grant): Grant => ({
  run_as,
  tools,
  disallowed_tools,
  read_only,
  limits,
});
