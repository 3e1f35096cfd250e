import { ReasonixError } from '../core/errors.ts';
import { prompt } from '../core/prompts.ts';
import { shortDescription } from '../skills/catalog.ts';
import { neutralise } from '../skills/neutralise.ts';
import type { Skill, SkillLibrary } from '../skills/types.ts';
import type { RunSkillInput } from '../tools/skill-service.ts';
import { cleanName } from './clean-name.ts';

/** A call that cannot be answered the way it was made, in words for a model. */
export function refused(name: string, slots: Record<string, string>, hint?: string): ReasonixError {
  return new ReasonixError('skill_refused', prompt(name, slots), { hint });
}

export interface FindSkillOptions {
  /** Skills that are refused for now. */
  disabled?: ReadonlySet<string> | undefined;
  /** The caller has `search_skills`. */
  canSearch: boolean;
}

/**
 * The skill that a name stands for; models copy the tag and the dash of a catalog line along.
 * @throws ReasonixError `skill_not_found` or `skill_refused`, in words for a model.
 */
export function findSkill(library: SkillLibrary, name: string, { disabled, canSearch }: FindSkillOptions): Skill {
  const exact = library.find(name);
  const lookup = exact.status === 'unknown' ? library.find(cleanName(name)) : exact;
  switch (lookup.status) {
    case 'found':
      if (disabled?.has(lookup.skill.name)) throw refused('skill-disabled', { name: lookup.skill.name });
      return lookup.skill;
    case 'disabled':
      throw refused('skill-disabled', { name: lookup.name });
    case 'ambiguous':
      throw refused('skill-ambiguous', { name: neutralise(name), names: lookup.names.join(', ') });
    case 'unknown':
      throw new ReasonixError('skill_not_found', unknownText(name, lookup), {
        hint: canSearch ? prompt('skill-unknown-search') : undefined,
      });
  }
}

function unknownText(name: string, { nearest, total }: { nearest: readonly string[]; total: number }): string {
  const nearestText = nearest.length > 0 ? nearest.join(', ') : 'none';
  return prompt('skill-unknown', { name: neutralise(name), nearest: nearestText, total });
}

/** The task of a sub-agent. @throws ReasonixError `skill_refused` without one, or for two threads at once. */
export function taskFor(skill: Skill, input: RunSkillInput): string {
  if (input.continue_from && input.fork_from) throw refused('continue-or-fork', { name: skill.name });
  const task = input.arguments?.trim() ?? '';
  if (task === '') throw refused('no-task', { name: skill.name }, takes(skill));
  return task;
}

/** What its author says it takes. */
function takes({ argumentHint, argumentNames }: Skill): string | undefined {
  const hint = shortDescription(argumentHint ?? argumentNames.join(' '));
  return hint === '' ? undefined : prompt('argument-hint', { hint });
}
