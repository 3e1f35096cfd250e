import { prompt } from '../core/prompts.ts';
import { neutralise } from './neutralise.ts';
import type { Skill, SkillLibrary } from './types.ts';

/** What `skills:` of a skill stands for. */
export interface Preload {
  /** Each once, in the order in which they are named. Those that a model may not start itself are among them. */
  skills: Skill[];
  /** Names that no skill has here, or that are disabled. */
  unknown: string[];
}

/** The skills that a child of `skill` starts with. What these name in turn is not followed. */
export function preloadOf(skill: Skill, library: SkillLibrary): Preload {
  const skills = new Map<string, Skill>();
  const unknown = new Set<string>();
  for (const name of skill.preload) {
    const lookup = library.find(name);
    if (lookup.status !== 'found') unknown.add(name);
    else if (lookup.skill.name !== skill.name) skills.set(lookup.skill.name, lookup.skill);
  }
  return { skills: [...skills.values()], unknown: [...unknown] };
}

/** What parent and child are told of names that no skill has. */
export function unknownPreloads(skill: Skill, unknown: readonly string[]): string | undefined {
  if (unknown.length === 0) return undefined;
  return prompt('preload-unknown', { skill: neutralise(skill.name), names: unknown.map(neutralise).join(', ') });
}
