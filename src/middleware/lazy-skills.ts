import { defineMiddleware, type Middleware } from '../session/middleware.ts';
import { addSkillTools, type SkillListing } from './skill-catalog.ts';
import { skillNotice } from './skill-notice.ts';

/**
 * Skills in the prompt as a pointer to `search_skills`; only built-ins stay listed. What can be run
 * is the same as with the catalog.
 */
export function lazySkills(options: SkillListing): Middleware {
  return defineMiddleware({
    name: 'lazy-skills',
    prepareSession: (setup) => addSkillTools(setup, options, true),
    startTurn: (turn) => skillNotice(turn, options),
  });
}
