import { prompt } from '../core/prompts.ts';
import { renderBody } from './arguments.ts';
import { boundBody } from './body-limit.ts';
import { neutralise } from './neutralise.ts';
import { pinName } from './pins.ts';
import { skillFiles } from './resources.ts';
import type { Skill } from './types.ts';

/** Shadowed definitions that a result names. */
const MOST_SHADOWS = 3;

/**
 * An inline skill as the model gets it: the pin, heading, description, where it is from, its base
 * folder and files, and the body, byte for byte but for its placeholders. Arguments that no placeholder
 * took stand at the end. Pins survive compaction word for word.
 * @throws ReasonixError `skill_invalid` for arguments over 64 KiB.
 */
export async function renderInline(skill: Skill, body: string, given?: string | null | undefined): Promise<string> {
  return pinned(skill, await contentOf(skill, body, given));
}

/** The text of `read_skill`: like an inline result, and for a sub-agent skill how it is run. */
export async function renderForReading(skill: Skill, body: string, given?: string | null | undefined): Promise<string> {
  const rendered = await renderInline(skill, body, given);
  if (skill.runAs !== 'subagent') return rendered;
  return `${prompt('read-subagent-skill', { name: neutralise(skill.name) })}\n\n${rendered}`;
}

/**
 * A sub-agent skill's body as the system prompt of a child, filled like an inline one, then its base
 * folder when there are files in it. The task itself is the child's first message.
 * @throws ReasonixError `skill_invalid` for a task over 64 KiB.
 */
export async function renderChildPrompt(skill: Skill, body: string, task: string): Promise<string> {
  const { text } = await filled(skill, body, task);
  const files = await filesLine(skill, false);
  if (files === undefined) return text;
  return `${text}${text.endsWith('\n') ? '\n' : '\n\n'}${files}`;
}

/** Instead of a body that is in the context already, word for word. */
export const renderAlreadyLoaded = (skill: Skill): string => prompt('already-loaded', { name: neutralise(skill.name) });

async function contentOf(skill: Skill, body: string, given: string | null | undefined): Promise<string> {
  const { text, used } = await filled(skill, body, given);
  const tail = given && !used ? `\n\n${prompt('arguments-line', { given })}` : '';
  return `${await headOf(skill)}\n\n${text}${tail}`;
}

async function filled(
  skill: Skill,
  body: string,
  given: string | null | undefined,
): Promise<{ text: string; used: boolean }> {
  const { kept, marker } = await boundBody(skill, body);
  const { text, used } = renderBody(kept, { arguments: given, names: skill.argumentNames });
  if (kept.trim() === '') {
    const slots = { name: neutralise(skill.name), description: neutralise(skill.description) };
    return { text: prompt('empty-body', slots), used };
  }
  return { text: marker === undefined ? text : `${text}\n${marker}`, used };
}

async function headOf(skill: Skill): Promise<string> {
  const path = skill.scope === 'builtin' ? '' : ` · ${neutralise(skill.file)}`;
  const lines = [`# Skill: ${neutralise(skill.name)}`];
  if (skill.description !== '') lines.push(`> ${neutralise(skill.description)}`);
  lines.push(`(scope: ${skill.scope}${path})`);
  const shadowed = skill.shadows.filter(({ scope }) => scope !== 'builtin').slice(0, MOST_SHADOWS);
  if (shadowed.length > 0) {
    lines.push(prompt('shadows-line', { paths: shadowed.map(({ path: each }) => neutralise(each)).join(', ') }));
  }
  const files = await filesLine(skill, skill.scope !== 'builtin');
  if (files !== undefined) lines.push(files);
  return lines.join('\n');
}

/** Base folder and files. Without files the folder is worth a line only where paths may start from it. */
async function filesLine(skill: Skill, always: boolean): Promise<string | undefined> {
  const { files, more, bounded } = await skillFiles(skill);
  const folder = neutralise(skill.folder);
  if (files.length === 0) return always ? prompt('base-folder', { folder }) : undefined;
  const rest = more > 0 || bounded ? ` (+${more}${bounded ? ' or more' : ''})` : '';
  return prompt('base-folder-files', { folder, files: files.map(neutralise).join(', ') + rest });
}

/** Matches pin tags however they are written, with their number. */
const PIN = /<\s{0,4}\/?\s{0,4}skill-pin(?:-(\d{1,9}))?(?![\w-])/gi;

/**
 * The pin around a skill. What it holds may name the pin's own tag and is not changed by a byte, so
 * the tag then takes the first number that the text does not use: `<skill-pin-2 …>`.
 */
function pinned(skill: Skill, content: string): string {
  const taken = new Set<number>();
  for (const [, number] of content.matchAll(PIN)) taken.add(number === undefined ? 1 : Number(number));
  let number = 1;
  while (taken.has(number)) number++;
  const tag = number === 1 ? 'skill-pin' : `skill-pin-${number}`;
  return `<${tag} name="${pinName(skill.name)}">\n${content}\n</${tag}>`;
}
