import type { EventOf, SessionEvent } from '../core/events.ts';
import { prompt } from '../core/prompts.ts';
import { defineMiddleware, type Middleware, type SessionInfo, type SkillPlace } from '../session/middleware.ts';
import type { Thread } from '../session/thread.ts';
import { neutralise } from '../skills/neutralise.ts';

/** The required skills of a session, resolved against the library. */
export interface RequiredSet {
  names: string[];
  /** Those of `names` that a model may not load itself: a nudge would be in vain. */
  sealed: string[];
  /** Names that no skill has, with the file and line that ask for them. */
  unresolved: { name: string; from: string }[];
}

export interface RequiredSkillsOptions {
  required(info: SessionInfo): Promise<RequiredSet>;
  /** The body of a skill as it is put into the context, and its hash. */
  render(name: string, place: SkillPlace): Promise<{ text: string; hash: string }>;
  /** What happens when nudges were in vain. Default `inject`. */
  policy: 'inject' | 'fail' | 'allow';
  /** Default 3. */
  maxNudges: number;
  /** Injects at the start of the session instead of nudging. */
  force: boolean;
  /** Freezes the bodies into the system prompt. */
  inSystemPrompt: boolean;
}

/**
 * Holds a session to its required skills: missing → nudged → loaded, or injected, or the
 * turn fails. Loaded means that the body is in the context now; disabled in this session is waived.
 */
export function requiredSkills(options: RequiredSkillsOptions): Middleware {
  const missingOf = async (info: SessionInfo, thread: Thread): Promise<{ missing: string[]; sealed: string[] }> => {
    const { names, sealed } = await options.required(info);
    const missing = names.filter((name) => !thread.loadedSkills.has(name) && !thread.disabledSkills.has(name));
    return { missing, sealed: missing.filter((name) => sealed.includes(name)) };
  };

  const inject = async (names: readonly string[], place: SkillPlace, via: EventOf<'skill.loaded'>['via']) => {
    const skills = await Promise.all(names.map(async (name) => ({ name, ...(await options.render(name, place)) })));
    const sections = skills.map(({ text }) => text);
    const events = skills.map(({ name, hash }): SessionEvent => ({ type: 'skill.loaded', name, hash, via }));
    return { text: prompt('required-injected', { sections: sections.join('\n\n') }), events };
  };

  return defineMiddleware({
    name: 'required-skills',

    async prepareSession(setup) {
      if (!setup.isNew || !options.inSystemPrompt) return;
      const { names } = await options.required(setup);
      const isThere = (name: string) =>
        setup.events.some((event) => event.type === 'skill.loaded' && event.name === name);
      const wanted = names.filter((name) => !isThere(name));
      if (wanted.length === 0) return;
      const { text, events } = await inject(wanted, setup, 'system');
      setup.addSection(text);
      for (const event of events) setup.addEvent(event);
    },

    async startTurn({ info, thread }) {
      const isFirst = thread.lastTurn === undefined;
      const { unresolved } = isFirst ? await options.required(info) : { unresolved: [] };
      const notices = unresolved.map(({ name, from }) =>
        prompt('required-unresolved', { name: neutralise(name), from }),
      );
      if (!options.force) return { notices };
      const { missing } = await missingOf(info, thread);
      if (missing.length === 0) return { notices };
      const { text, events } = await inject(missing, info, 'force');
      return { notices: [...notices, text], events };
    },

    async finishTurn({ info, thread }) {
      const { missing, sealed } = await missingOf(info, thread);
      if (missing.length === 0) return { kind: 'end' };
      if (sealed.length > 0) {
        const { text, events } = await inject(sealed, info, 'inject');
        return { kind: 'continue', origin: 'notice', message: text, events };
      }
      const names = missing.join(', ');
      if (thread.requiredNudges < options.maxNudges) {
        const count = thread.requiredNudges + 1;
        const event: SessionEvent = { type: 'required.nudged', names: missing, count };
        return { kind: 'continue', origin: 'nudge', message: prompt('required-nudge', { names }), events: [event] };
      }
      if (options.policy === 'allow') return { kind: 'end' };
      if (options.policy === 'fail') {
        return {
          kind: 'fail',
          reason: `required skills were not loaded after ${thread.requiredNudges} nudges: ${names}`,
        };
      }
      const { text, events } = await inject(missing, info, 'inject');
      return { kind: 'continue', origin: 'notice', message: text, events };
    },
  });
}
