import { prompt } from '../core/prompts.ts';
import type { Session } from '../session/session.ts';
import type { Skill, SkillLibrary } from '../skills/types.ts';
import { isGone } from './gone-skill.ts';

/** What is no longer as it was when a child's thread began, in words for its model. `hash` is that of the body now. */
export function changedSince(session: Session, now: { skill: Skill | undefined; hash: string }): string[] {
  const { skill } = session.started;
  const notes: string[] = [];
  if (skill?.hash !== now.hash) {
    const name = now.skill === undefined || isGone(now.skill) ? 'skill-gone' : 'body-changed';
    notes.push(prompt(name, { skill: skill?.name ?? '' }));
  }
  const missing = session.missingTools();
  if (missing.length > 0) notes.push(prompt('tools-gone', { names: missing.join(', ') }));
  return notes;
}

/** The same for a child that a person goes on with, by the skills of its folder. */
export async function changedInLibrary(session: Session, library: SkillLibrary): Promise<string[]> {
  const lookup = library.find(session.started.skill?.name ?? '');
  if (lookup.status !== 'found') return changedSince(session, { skill: undefined, hash: '' });
  const { skill } = lookup;
  return changedSince(session, { skill, hash: (await library.load(skill)).hash });
}
