import type { EventOf } from '../core/events.ts';
import type { Skill, SkillBody } from '../skills/types.ts';

/** The body of a skill whose file is gone. */
export const GONE: SkillBody = { text: '', hash: '' };

/** No skill of a library is without a stamp. */
export const isGone = ({ stamp }: Skill): boolean => stamp === '';

/** What the log of a child keeps of its skill, for one whose file is gone: enough to go on with the child. */
export function goneSkill({ skill, budget, outputSchema }: EventOf<'session.started'>): Skill {
  const file = skill?.path ?? '';
  return {
    name: skill?.name ?? '',
    description: '',
    runAs: 'subagent',
    scope: file === '' ? 'builtin' : 'project',
    file,
    folder: '',
    root: '',
    layout: 'folder',
    invocation: 'manual',
    disableModelInvocation: false,
    userInvocable: true,
    disallowedTools: [],
    readOnly: false,
    argumentNames: [],
    requires: [],
    preload: [],
    required: [],
    outputSchema,
    limits: {
      maxSteps: budget.steps,
      maxTokens: budget.tokens,
      maxCost: budget.cost,
      timeout: budget.time,
      maxSpawns: budget.spawns,
      maxDepth: budget.depth,
    },
    inherit: [],
    metadata: {},
    stamp: '',
    diagnostics: [],
    shadows: [],
  };
}
