import type { EventOf } from '../core/events.ts';
import { pinIn } from '../skills/pins.ts';

/** A skill body that is in the context now. */
export interface LoadedSkill {
  name: string;
  hash: string;
  /** The body as it stands in a message, with its tags. */
  pin?: string | undefined;
  /** No message holds the body: it is in the system prompt, or it was a child's. */
  isFixed?: boolean | undefined;
}

/**
 * The skills whose bodies are in the context, by name. A `skill.loaded` stands in the log right before
 * the message that brings the body, so that text which only looks like a pin is never taken for one.
 */
export class LoadedSkills extends Map<string, LoadedSkill> {
  #awaited: LoadedSkill[] = [];

  load({ name, hash, via }: EventOf<'skill.loaded'>): void {
    const skill: LoadedSkill = { name, hash };
    this.set(name, skill);
    if (via === 'system' || via === 'preload' || via === 'items') skill.isFixed = true;
    else this.#awaited.push(skill);
  }

  /** A message of the user or of the runtime follows; several may, of which one brings the body. */
  said(content: string): void {
    if (this.#awaited.length === 0) return;
    for (const skill of this.#awaited) skill.pin = pinIn(content, skill.name);
    this.#awaited = this.#awaited.filter(({ pin }) => pin === undefined);
  }

  answered({ content, child }: Pick<EventOf<'tool.result'>, 'content' | 'child'>): void {
    if (this.#awaited.length === 0) return;
    for (const skill of this.#awaited) {
      if (child === undefined) skill.pin = pinIn(content, skill.name);
      else skill.isFixed = true;
    }
    this.#awaited = [];
  }

  /** After a compaction: what is not kept is not in the context any more. */
  keep(kept: readonly { name: string; hash: string }[]): void {
    const before = new Map(this);
    this.clear();
    for (const { name, hash } of kept) {
      const known = before.get(name);
      this.set(name, known?.hash === hash ? known : { name, hash });
    }
  }
}
