import type { StoredEvent } from '../core/events.ts';
import { isReference } from '../core/ids.ts';
import { clipGraphemes } from '../core/text.ts';
import type { Observation } from '../session/host.ts';
import { neutralise } from '../skills/neutralise.ts';
import { statusText } from '../subagents/result-text.ts';

interface Seen {
  /** The skills that lead to it. */
  path: string;
  steps: number;
}

/** Longest part of a line that tools and providers word, in graphemes. */
const LONGEST_DETAIL = 200;

/** What happens in the sub-agents of one call, as lines for a person: skill, step, tools. */
export class ActivityText {
  readonly skill: string;
  readonly #seen = new Map<string, Seen>();

  constructor(skill: string) {
    this.skill = neutralise(skill);
  }

  /** The line that an observation is worth; most are worth none. */
  line(observation: Observation): string | undefined {
    const { session } = observation;
    if (observation.kind === 'event') return this.#event(session, observation.event);
    const who = this.#seen.get(session)?.path ?? this.skill;
    if (observation.kind === 'progress') return `${who}: ${detail(observation.text)}`;
    const { delta } = observation;
    if (delta.type === 'retry') return `${who}: asking the model again (${detail(delta.reason)})`;
    return delta.type === 'fallback' ? `${who}: asking ${detail(delta.to)} in its place` : undefined;
  }

  #event(session: string, event: StoredEvent): string | undefined {
    if (event.type === 'session.started') {
      const path = this.#pathBelow(event.parent?.session, event.skill?.name ?? session);
      this.#seen.set(session, { path, steps: 0 });
      return event.kind === 'child' ? `${path}: started ${session}` : undefined;
    }
    // The session of the call itself asks no model.
    if (!isReference(session)) return undefined;
    const seen = this.#seen.get(session) ?? { path: this.skill, steps: 0 };
    this.#seen.set(session, seen);
    switch (event.type) {
      case 'user.message':
        if (event.origin !== 'continuation' || !event.from) return undefined;
        // One that goes on was not seen to start; that its caller is a sub-agent tells it from the call's own.
        if (isReference(event.from.session)) seen.path = this.#pathBelow(event.from.session, session);
        return `${seen.path}: goes on in ${session}`;
      case 'assistant.message': {
        seen.steps++;
        const tools = event.toolCalls.map(({ name }) => detail(name)).join(', ');
        return `${seen.path}: step ${seen.steps}${tools === '' ? '' : `: ${tools}`}`;
      }
      case 'turn.ended':
        return `${seen.path}: ${statusText(event)} after ${seen.steps === 1 ? '1 step' : `${seen.steps} steps`}`;
      default:
        return undefined;
    }
  }

  #pathBelow(parent: string | undefined, name: string): string {
    const above = parent === undefined ? undefined : this.#seen.get(parent)?.path;
    return above === undefined ? neutralise(name) : `${above} › ${neutralise(name)}`;
  }
}

const detail = (text: string): string => clipGraphemes(neutralise(text), LONGEST_DETAIL);
