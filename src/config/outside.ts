import { ReasonixError } from '../core/errors.ts';
import { assignText, type PathBase } from './assign.ts';
import { type Layer, newLayer } from './layer.ts';
import { anyName, nearestName, outerName, unknownName } from './names.ts';
import type { ConfigNote, Problem } from './problems.ts';

/** Variables that are no settings: where everything is kept, and a secret, which no file may hold. */
const NO_SETTINGS: readonly string[] = ['REASONIX_HOME', 'REASONIX_SERVE__TOKEN'];

/** The environment as a layer. Of two names for one key, `REASONIX_…` wins. */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  paths: PathBase,
): { layer: Layer; problems: Problem[]; notes: ConfigNote[] } {
  const layer = newLayer('environment');
  const problems: Problem[] = [];
  const notes: ConfigNote[] = [];
  const names = Object.keys(env).filter((name) => (env[name] ?? '').trim() !== '');
  names.sort((left, right) => Number(left.startsWith('REASONIX_')) - Number(right.startsWith('REASONIX_')));
  for (const name of names) {
    const named = outerName(name);
    if (named) problems.push(...assignText(layer, named, env[name]!, { tier: 'environment', name }, paths));
    else if (NO_SETTINGS.includes(name)) continue;
    else if (name.startsWith('REASONIX_') && name.includes('__')) {
      problems.push({ tier: 'environment', name, message: unknownName(name) });
    } else if (name.startsWith('REASONIX_')) {
      const suggestion = nearestName(name);
      if (suggestion) notes.push({ message: `${name} is not known; did you mean ${suggestion}?` });
    }
  }
  return { layer, problems, notes };
}

/**
 * `KEY=VALUE` texts of the command line as a layer; the last one for a key counts.
 * @throws ReasonixError `usage` when one has no `=`.
 */
export function readOverrides(overrides: readonly string[], paths: PathBase): { layer: Layer; problems: Problem[] } {
  const layer = newLayer('flag');
  const problems: Problem[] = [];
  for (const override of overrides) {
    const equals = assignmentAt(override);
    if (equals < 1) {
      throw new ReasonixError('usage', `-e wants KEY=VALUE, but one of its values has no "="`, {
        hint: 'for example: -e skills.lazy=1',
      });
    }
    const name = override.slice(0, equals).trim();
    const place = { tier: 'flag' as const, name };
    const named = anyName(name);
    if (named) problems.push(...assignText(layer, named, override.slice(equals + 1), place, paths));
    else problems.push({ ...place, message: unknownName(name) });
  }
  return { layer, problems };
}

/** The `=` after the key, which may hold quoted parts. */
function assignmentAt(override: string): number {
  const key = /^(?:[^="']|"(?:[^"\\]|\\.)*"|'[^']*')*/.exec(override)?.[0] ?? '';
  return override[key.length] === '=' ? key.length : override.indexOf('=');
}
