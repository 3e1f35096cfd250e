import { editDistance } from '../../core/edit-distance.ts';
import { ReasonixError } from '../../core/errors.ts';
import type { SkillLibrary } from '../../skills/types.ts';
import { findSkill } from '../skills.ts';

/** What a run is asked to do. `none`: finish what was cut. */
export type Task =
  | { kind: 'none' }
  | { kind: 'message'; text: string }
  | { kind: 'skill'; name: string; arguments: string };

/**
 * The words of the command line, else stdin. A run that goes on with a session needs no task, so only
 * `-` makes it read stdin: a pipe that nobody closes would keep it waiting.
 */
export async function taskText(words: readonly string[], { optional }: { optional: boolean }): Promise<string> {
  const given = words.join(' ');
  if (given !== '-' && (words.length > 0 || optional)) return given;
  if (given !== '-' && process.stdin.isTTY) {
    throw new ReasonixError('usage', 'there is no task', {
      hint: 'give one: reasonix run "What does this repository do?"',
    });
  }
  const text = await readStdin();
  if (text.trim() === '') {
    throw new ReasonixError('usage', 'the task on stdin is empty', {
      hint: 'pipe a text in, or give the task as an argument',
    });
  }
  return text;
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/^\ufeff/, '');
}

/**
 * What a text asks for: `/name arguments` runs the skill of that name. Any other text is a message, a
 * path at its start included; but one lone `/word`, and a slip in the name of a skill, can only have been
 * meant as a skill.
 * @throws ReasonixError `skill_not_found` for such words, for a disabled skill and for an unknown `skill`.
 */
export function taskOf(text: string, skill: string | undefined, library: SkillLibrary): Task {
  if (skill !== undefined) return { kind: 'skill', name: findSkill(library, skill).name, arguments: text.trim() };
  if (text.trim() === '') return { kind: 'none' };
  const [, name, rest] = /^\s*\/([^\s/]\S*)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  if (name === undefined) return { kind: 'message', text };
  const args = (rest ?? '').trim();
  const isWord = !name.includes('/');
  const lookup = library.find(name);
  if (lookup.status === 'unknown' && !(isWord && (args === '' || isSlip(name, lookup.nearest)))) {
    return { kind: 'message', text };
  }
  return { kind: 'skill', name: findSkill(library, name).name, arguments: args };
}

/** Short words are too much like each other: `/tmp` is none. */
function isSlip(word: string, names: readonly string[]): boolean {
  const most = word.length < 4 ? 0 : word.length < 7 ? 1 : 2;
  return names.some((name) => editDistance(word.toLowerCase(), name.toLowerCase()) <= most);
}
