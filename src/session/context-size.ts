import type { EventOf } from '../core/events.ts';
import type { Message, ToolMessage } from '../core/messages.ts';
import type { Usage } from '../core/usage.ts';
import { CHARACTERS_PER_TOKEN, messageSize, toolsSize } from '../models/estimate.ts';

/** What providers count for a picture of usual size, as characters of text. */
const PICTURE = 6_400;

/** Tokens a character at most: beyond it a provider counts something else than this text. */
const DENSEST = 1;

/** Characters of a message in a request, with what its provider wants back. */
export function sizeOf(message: Message): number {
  if (message.role === 'tool') return resultSize(message);
  if (message.role === 'user') return message.content.length;
  const state = message.providerState === undefined ? 0 : JSON.stringify(message.providerState).length;
  // A state holds the reasoning, too, where a provider wants that back signed.
  return messageSize(message) + Math.max(message.reasoning?.length ?? 0, state);
}

export const resultSize = ({ content, images }: Pick<ToolMessage, 'content' | 'images'>): number =>
  content.length + (images?.length ?? 0) * PICTURE;

/**
 * How much of a window a thread takes: what the provider counted for the newest answer and the request
 * before it, and a quarter token for each character since. It is kept up with each event, and never
 * costs more than that event.
 */
export class ContextSize {
  /** System prompt and tools, in characters. */
  frozen = 0;
  #characters = 0;
  #counted: number | undefined;
  #since = 0;
  #perCharacter = 1 / CHARACTERS_PER_TOKEN;

  /** Tokens that the next request would have. */
  get tokens(): number {
    if (this.#counted === undefined) return this.tokensOf(this.frozen + this.#characters);
    return this.#counted + this.tokensOf(this.#since);
  }

  /** True when a provider counted most of it. */
  get isCounted(): boolean {
    return this.#counted !== undefined;
  }

  /** Tokens of so many characters of this thread: dense scripts take more than a quarter each. */
  tokensOf(characters: number): number {
    return Math.ceil(characters * this.#perCharacter);
  }

  charactersOf(tokens: number): number {
    return Math.max(0, Math.floor(tokens / this.#perCharacter));
  }

  start({ system, tools }: Pick<EventOf<'session.started'>, 'system' | 'tools'>): void {
    this.frozen = system.length + toolsSize(tools);
  }

  add(characters: number): void {
    this.#characters += characters;
    this.#since += characters;
  }

  /** An answer to all that was there. Without usage (the host's own calls, copies in a fork) it is estimated. */
  answered(characters: number, usage: Usage): void {
    const sent = this.frozen + this.#characters;
    this.add(characters);
    if (usage.input <= 0) return;
    const density = sent > 0 ? usage.input / sent : 0;
    this.#perCharacter = Math.min(DENSEST, Math.max(1 / CHARACTERS_PER_TOKEN, density));
    this.#counted = usage.input + usage.output;
    this.#since = 0;
  }

  /** Nobody has counted what a compaction left. */
  recount(messages: readonly Message[]): void {
    this.#counted = undefined;
    this.#characters = messages.reduce((sum, message) => sum + sizeOf(message), 0);
  }
}
