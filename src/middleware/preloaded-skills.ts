import { messageOf } from '../core/errors.ts';
import type { SessionEvent } from '../core/events.ts';
import { prompt } from '../core/prompts.ts';
import { byteLength } from '../core/text.ts';
import { defineMiddleware, type Middleware, type SkillPlace } from '../session/middleware.ts';
import { neutralise } from '../skills/neutralise.ts';
import { preloadOf, unknownPreloads } from '../skills/preload.ts';
import { renderInline } from '../skills/render.ts';
import type { Skill, SkillLibrary } from '../skills/types.ts';

/** Most bytes of bodies that a child starts with: they ride on every request. */
const PRELOAD_LIMIT = 64 * 1024;

export interface PreloadOptions {
  library(place: SkillPlace): Promise<SkillLibrary>;
}

/**
 * Freezes the bodies of the skills that `skills:` of a child's skill names into its system prompt. What
 * does not exist, or does not fit, is said there.
 */
export function preloadedSkills(options: PreloadOptions): Middleware {
  return defineMiddleware({
    name: 'preloaded-skills',
    async prepareSession(setup) {
      if (!setup.isNew || !setup.skill) return;
      const library = await options.library(setup);
      const own = library.find(setup.skill.name);
      if (own.status !== 'found' || own.skill.preload.length === 0) return;
      const { skills, unknown } = preloadOf(own.skill, library);
      const { sections, events, leftOut } = await bodiesOf(skills, library, unknown);
      if (sections.length > 0) setup.addSection(prompt('preload', { sections: sections.join('\n\n') }));
      for (const event of events) setup.addEvent(event);
      if (leftOut.length > 0) setup.addSection(prompt('preload-left-out', { names: leftOut.join(', ') }));
      const note = unknownPreloads(own.skill, unknown);
      if (note) setup.addSection(note);
    },
  });
}

async function bodiesOf(skills: readonly Skill[], library: SkillLibrary, unknown: string[]) {
  const sections: string[] = [];
  const events: SessionEvent[] = [];
  const leftOut: string[] = [];
  let bytes = 0;
  for (const skill of skills) {
    try {
      const body = await library.load(skill);
      const section = await renderInline(skill, body.text);
      const size = byteLength(section);
      if (bytes + size > PRELOAD_LIMIT) {
        leftOut.push(neutralise(skill.name));
        continue;
      }
      bytes += size;
      sections.push(section);
      events.push({ type: 'skill.loaded', name: skill.name, hash: body.hash, via: 'preload' });
    } catch (error) {
      unknown.push(`${skill.name} (${messageOf(error)})`);
    }
  }
  return { sections, events, leftOut };
}
