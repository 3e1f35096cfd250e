import { neutralise } from './neutralise.ts';

/** The name of a skill as the tag of its pin has it. */
export const pinName = (name: string): string => neutralise(name).replaceAll('"', "'");

const OPENING = /<(skill-pin(?:-\d{1,9})?) name="([^"\n]*)">\n/g;

/**
 * The pin of a skill in a text that the runtime made, tags included. What another pin holds is passed
 * over: a body may show pins of its own.
 */
export function pinIn(text: string, name: string): string | undefined {
  const wanted = pinName(name);
  const opening = new RegExp(OPENING);
  for (let match = opening.exec(text); match; match = opening.exec(text)) {
    const closing = `\n</${match[1]}>`;
    const end = text.indexOf(closing, opening.lastIndex - 1);
    if (end < 0) continue;
    if (match[2] === wanted) return text.slice(match.index, end + closing.length);
    opening.lastIndex = end + closing.length;
  }
  return undefined;
}
