import { sep } from 'node:path';
import type { Known } from './cache.ts';
import { stampOf } from './hash.ts';
import type { Skill } from './types.ts';

/** Set by the place of the file, the index or the other definitions of a name; never kept. */
type Placed = 'file' | 'folder' | 'root' | 'scope' | 'layout' | 'stamp' | 'diagnostics' | 'shadows';

/** What a file's header says, without what it says by being silent. */
export type KeptHeader = { [Key in Exclude<keyof Skill, Placed>]?: Skill[Key] | undefined } & { name: string };

const NONE: never[] = [];
const NOTHING = {};
// shared by all skills of a library of thousands, so that nobody may write to them
Object.freeze(NONE);
Object.freeze(NOTHING);

/** Without defaults, so that the index of a large library stays small. */
export function keepHeader(skill: Skill): KeptHeader {
  const kept: KeptHeader = { name: skill.name, description: skill.description };
  if (skill.runAs !== 'inline') kept.runAs = skill.runAs;
  if (skill.invocation !== 'auto') kept.invocation = skill.invocation;
  if (!skill.userInvocable) kept.userInvocable = false;
  // empty, these mean something: no tool is allowed, any JSON is an answer
  if (skill.allowedTools !== undefined) kept.allowedTools = skill.allowedTools;
  if (skill.outputSchema !== undefined) kept.outputSchema = skill.outputSchema;
  for (const key of OMITTED_WHEN_EMPTY) if (!isEmpty(skill[key])) Object.assign(kept, { [key]: skill[key] });
  return kept;
}

const OMITTED_WHEN_EMPTY = [
  'disableModelInvocation',
  'disallowedTools',
  'readOnly',
  'model',
  'effort',
  'argumentHint',
  'argumentNames',
  'requires',
  'preload',
  'required',
  'limits',
  'inherit',
  'isolation',
  'license',
  'compatibility',
  'metadata',
] as const satisfies (keyof KeptHeader)[];

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  if (typeof value !== 'object' || value === null) return false;
  for (const _ in value) return false;
  return true;
}

/**
 * The skill of a file, from what is kept about it. One literal with every key in one order: spread
 * operators here would make thousands of slow objects.
 */
export function toSkill(
  entry: Pick<Known, 'contentHash' | 'diagnostics'>,
  kept: KeptHeader,
  { file, layout }: Pick<Skill, 'file' | 'layout'>,
  { scope, root }: Pick<Skill, 'scope' | 'root'>,
): Skill {
  return {
    name: kept.name,
    description: kept.description ?? '',
    runAs: kept.runAs ?? 'inline',
    scope,
    file,
    folder: file.slice(0, Math.max(1, file.lastIndexOf(sep))),
    root,
    layout,
    invocation: kept.invocation ?? 'auto',
    disableModelInvocation: kept.disableModelInvocation ?? false,
    userInvocable: kept.userInvocable ?? true,
    allowedTools: kept.allowedTools,
    disallowedTools: kept.disallowedTools ?? NONE,
    readOnly: kept.readOnly ?? false,
    model: kept.model,
    effort: kept.effort,
    argumentHint: kept.argumentHint,
    argumentNames: kept.argumentNames ?? NONE,
    requires: kept.requires ?? NONE,
    preload: kept.preload ?? NONE,
    required: kept.required ?? NONE,
    outputSchema: kept.outputSchema,
    limits: kept.limits ?? NOTHING,
    inherit: kept.inherit ?? NONE,
    isolation: kept.isolation,
    license: kept.license,
    compatibility: kept.compatibility,
    metadata: kept.metadata ?? NOTHING,
    stamp: stampOf(file, entry.contentHash),
    diagnostics: entry.diagnostics ?? NONE,
    shadows: NONE,
  };
}
