import { prompt } from '../core/prompts.ts';
import type { SessionSetup, SkillPlace, TurnOpening, TurnView } from '../session/middleware.ts';
import { neutralise } from '../skills/neutralise.ts';
import { changesSince, keepSnapshot } from '../skills/snapshots.ts';
import type { SkillLibrary } from '../skills/types.ts';

/** Names of one kind that a notice spells out. */
const MOST_NAMES = 20;

export interface NoticeOptions {
  library(place: SkillPlace): Promise<SkillLibrary>;
  /** Folder that may be emptied at any time. */
  cache: string;
}

/** Notes in the session's first events what the library looks like. */
export async function rememberSkills(setup: SessionSetup, library: SkillLibrary, cache: string): Promise<void> {
  await keepSnapshot(library, cache);
  const none = { added: [], removed: [], changed: [] };
  setup.addEvent({ type: 'skills.changed', ...none, fingerprint: library.fingerprint });
}

/**
 * One notice at the start of a turn when skills came, went or changed since the session last looked.
 * The frozen catalog is not rewritten: that would cost the prompt's prefix. Packed skills never change.
 */
export async function skillNotice(
  turn: TurnView,
  { library: open, cache }: NoticeOptions,
): Promise<TurnOpening | undefined> {
  const last = turn.thread.skillChanges.at(-1);
  if (!last || turn.info.library !== undefined) return undefined;
  const library = await open(turn.info);
  await library.refresh();
  const { fingerprint } = library;
  if (last.fingerprint === fingerprint) return undefined;
  await keepSnapshot(library, cache);
  const changes = await changesSince(last.fingerprint, library, cache);
  const lines = changes
    ? [
        line('skills-added', changes.added),
        line('skills-removed', changes.removed),
        line('skills-edited', changes.changed),
      ]
    : [prompt('skills-unknown-change')];
  const text = lines.filter((part) => part !== '').join('\n');
  const event = {
    type: 'skills.changed' as const,
    ...(changes ?? { added: [], removed: [], changed: [] }),
    fingerprint,
  };
  return { notices: text === '' ? [] : [text], events: [event] };
}

function line(name: string, skills: readonly string[]): string {
  if (skills.length === 0) return '';
  const more = skills.length > MOST_NAMES ? ` (+${skills.length - MOST_NAMES} more)` : '';
  const names = skills.slice(0, MOST_NAMES).map(neutralise).join(', ');
  return prompt(name, { names: names + more });
}
