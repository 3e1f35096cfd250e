import { clipEnd, clipStart } from '../../core/text.ts';

/** Room that the marker between head and tail takes, in characters. */
const MARKER = 130;

/**
 * Head and tail of a text in about so many characters, cut between graphemes. The marker between them
 * is told at which character the head ends.
 */
export function shorten(text: string, characters: number, marker: (offset: number) => string): string {
  if (text.length <= characters) return text;
  const room = Math.max(0, characters - MARKER);
  const head = clipStart(text, Math.floor(room * 0.75));
  const tail = clipEnd(text, Math.floor(room * 0.25));
  return `${head}\n${marker(head.length)}\n${tail}`.trim();
}
