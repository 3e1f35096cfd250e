import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, ReasonixError } from '../core/errors.ts';
import { isOrdinaryName, normalName } from './names.ts';

export interface NewSkill {
  /** Folder of skills that it goes into. */
  root: string;
  name: string;
  description: string;
  body: string;
  run_as: 'inline' | 'subagent';
  model?: string | undefined;
  allowed_tools?: readonly string[] | undefined;
}

/**
 * Writes `<root>/<name>/SKILL.md` and returns its path. Nothing is written over, and nothing is left
 * behind when it fails.
 * @throws ReasonixError `skill_invalid` for a bad name, an empty description or body, or a name that is taken.
 */
export async function createSkill(skill: NewSkill): Promise<string> {
  const name = normalName(skill.name);
  if (!isOrdinaryName(name)) {
    throw invalid(`"${name}" cannot be the name of a skill`, 'use letters, digits, ".", "_" and "-", at most 64');
  }
  if (skill.description.trim() === '')
    throw invalid('the description is empty', 'say what the skill does and when to use it');
  if (skill.body.trim() === '') throw invalid('the body is empty', 'write the instructions');
  const folder = join(skill.root, name);
  for (const taken of [folder, `${folder}.md`]) {
    if (existsSync(taken)) throw invalid(`${taken} exists already`, 'choose another name, or edit that file');
  }
  const { stringify } = await import('yaml');
  const header = stringify(headerOf({ ...skill, name }), { lineWidth: 0 });
  const temporary = join(skill.root, `.${name}.${process.pid}.${Date.now()}`);
  try {
    await mkdir(temporary, { recursive: true });
    await writeFile(join(temporary, 'SKILL.md'), `---\n${header}---\n${skill.body.trimEnd()}\n`, { flag: 'wx' });
    // A folder cannot be renamed onto one that is not empty, so of two writers one gets the name.
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw new ReasonixError(
      'skill_invalid',
      `the skill ${name} could not be written to ${skill.root}: ${messageOf(error)}`,
      {
        hint: 'check that the folder can be written, or use the other scope',
        cause: error,
      },
    );
  }
  return join(folder, 'SKILL.md');
}

/** Keys that mean nothing for an inline skill are left out. */
function headerOf({ name, description, run_as, model, allowed_tools }: NewSkill): Record<string, unknown> {
  const header: Record<string, unknown> = { name, description: description.trim() };
  if (run_as === 'inline') return header;
  header.runAs = 'subagent';
  if (model) header.model = model;
  if (allowed_tools) header['allowed-tools'] = [...allowed_tools];
  return header;
}

const invalid = (message: string, hint: string): ReasonixError => new ReasonixError('skill_invalid', message, { hint });
