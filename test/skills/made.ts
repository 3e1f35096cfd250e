import { dirname } from 'node:path';
import { ReasonixError } from '../../src/core/errors.ts';
import { compareCodePoints } from '../../src/skills/names.ts';
import type { Skill, SkillLibrary, SkillLookup } from '../../src/skills/types.ts';

/** A skill that lies nowhere, unless `file` says where. */
export function madeSkill(overrides: Partial<Skill> & { name: string }): Skill {
  const file = overrides.file ?? `/nowhere/skills/${overrides.name}/SKILL.md`;
  return {
    description: '',
    runAs: 'inline',
    scope: 'project',
    file,
    folder: dirname(file),
    root: dirname(dirname(file)),
    layout: 'folder',
    invocation: 'auto',
    disableModelInvocation: false,
    userInvocable: true,
    disallowedTools: [],
    readOnly: false,
    argumentNames: [],
    requires: [],
    preload: [],
    required: [],
    limits: {},
    inherit: [],
    metadata: {},
    stamp: `${overrides.name}:${Math.random()}`,
    diagnostics: [],
    shadows: [],
    ...overrides,
  };
}

/** A library of made skills with bodies in memory. */
export function madeLibrary(
  skills: readonly Skill[],
  bodies: Readonly<Record<string, string>> = {},
  disabled: readonly Skill[] = [],
): SkillLibrary {
  const sorted = skills.toSorted((a, b) => compareCodePoints(a.name, b.name));
  const find = (name: string): SkillLookup => {
    const skill = sorted.find((each) => each.name.toLowerCase() === name.toLowerCase());
    if (skill) return { status: 'found', skill };
    if (disabled.some((each) => each.name === name)) return { status: 'disabled', name };
    return { status: 'unknown', nearest: [], total: sorted.length };
  };
  return {
    skills: sorted,
    disabled,
    roots: [],
    diagnostics: [],
    fingerprint: '',
    find,
    load: async (skill) => {
      const text = Object.hasOwn(bodies, skill.name) ? bodies[skill.name] : undefined;
      if (text === undefined) throw new ReasonixError('skill_not_found', `${skill.name} no longer exists`);
      return { text, hash: text };
    },
    refresh: async () => ({ added: [], removed: [], changed: [] }),
  };
}
