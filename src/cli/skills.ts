import type { LoadedConfig } from '../config/cascade.ts';
import { ReasonixError } from '../core/errors.ts';
import { libraryOptions } from '../runtime/places.ts';
import { type OpenedLibrary, openLibrary } from '../skills/library.ts';
import { type Diagnostic, type Skill, type SkillLibrary, SOURCE_OF_SCOPE } from '../skills/types.ts';
import { loadSettings, type SettingsFlags, shortPath } from './settings.ts';
import { type Paint, printableLine } from './terminal.ts';

/** The configuration and the library that a run in the same folder sees. */
export async function loadSkills(flags: SettingsFlags): Promise<{ loaded: LoadedConfig; library: OpenedLibrary }> {
  const loaded = await loadSettings(flags);
  return { loaded, library: await openLibrary(libraryOptions(loaded.config, loaded.folders)) };
}

/** @throws ReasonixError `skill_not_found` with the nearest names, `skill_refused` for a disabled one. */
export function findSkill(library: SkillLibrary, name: string): Skill {
  const lookup = library.find(name);
  switch (lookup.status) {
    case 'found':
      return lookup.skill;
    case 'disabled':
      throw new ReasonixError('skill_not_found', `the skill ${lookup.name} is disabled by the configuration`, {
        hint: `switch it on with: reasonix skill enable ${lookup.name}`,
      });
    case 'ambiguous':
      throw new ReasonixError('skill_not_found', `${name} could be ${lookup.names.join(' or ')}`, {
        hint: 'write the name exactly as it is listed',
      });
    case 'unknown': {
      const near = lookup.nearest.length > 0 ? `; nearest: ${lookup.nearest.join(', ')}` : '';
      throw new ReasonixError('skill_not_found', `there is no skill ${JSON.stringify(name)}${near}`, {
        hint: `see all ${lookup.total} with: reasonix skill list`,
      });
    }
  }
}

/** A skill as `skill list --json` prints it. */
export function skillJson(skill: Skill): Record<string, unknown> {
  const { name, description, runAs, scope, file, invocation, shadows, diagnostics } = skill;
  return {
    name,
    description,
    run_as: runAs,
    source: SOURCE_OF_SCOPE[scope],
    scope,
    path: scope === 'builtin' ? '' : file,
    invocation,
    shadows,
    diagnostics,
  };
}

/** `warning  ~/x/SKILL.md:3  message`. */
export function diagnosticLine({ severity, path, line, message }: Diagnostic, paint: Paint): string {
  const style = severity === 'error' ? 'red' : severity === 'warning' ? 'yellow' : 'dim';
  const place = path === '' ? '' : ` ${shortPath(path)}${line === undefined ? '' : `:${line}`}`;
  return `${paint(style, severity)}${place}: ${printableLine(message)}`;
}
