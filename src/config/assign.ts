import { joinKey } from './key-spec.ts';
import type { Layer } from './layer.ts';
import type { NamedKey } from './names.ts';
import type { Place, Problem } from './problems.ts';
import { absolutePaths, parseBoolean, parseList, parseText } from './values.ts';

/** Where relative paths of a text start, and what `~` is. */
export interface PathBase {
  base: string;
  home: string;
}

/**
 * Sets in `layer` what `text` says under a known name. Empty text sets nothing.
 * Returns what is wrong with it, if anything.
 */
export function assignText(layer: Layer, named: NamedKey, text: string, place: Place, paths: PathBase): Problem[] {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  if (named.kind === 'switch') {
    const isOn = parseBoolean(trimmed);
    if (isOn !== undefined)
      layer.switches.set(named.skill, { ...place, key: ['skills', 'disabled_skills'], value: isOn });
    return [];
  }
  if (named.kind === 'table') return assignTable(layer, named, trimmed, place, paths);
  const parsed = parseText(named.spec, trimmed);
  if (!parsed.ok) {
    const subject = place.path === undefined ? '' : `${place.name}: `;
    return [{ ...place, message: `${subject}expected ${parsed.expected}, found ${parsed.found}` }];
  }
  const value = absolutePaths(named.spec, parsed.value, paths.base, paths.home);
  const target = named.kind === 'addition' ? layer.additions : layer.values;
  target.set(joinKey(named.key), { ...place, key: named.key, value });
  return [];
}

function assignTable(
  layer: Layer,
  named: NamedKey & { kind: 'table' },
  text: string,
  place: Place,
  paths: PathBase,
): Problem[] {
  const problems: Problem[] = [];
  for (const pair of parseList(text) ?? []) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, equals).trim();
    if (equals < 1 || name === '*' || name === '__proto__') {
      return [{ ...place, message: `${joinKey(named.key)}: expected name=value, name=value` }];
    }
    const entry: NamedKey = { kind: 'value', key: [...named.key, name], spec: named.spec };
    problems.push(...assignText(layer, entry, pair.slice(equals + 1), place, paths));
  }
  return problems;
}
