import { findNode, joinKey, type KeySpec, splitKey } from './key-spec.ts';
import { KEYS, keyRoot, specOf } from './keys.ts';
import { nearest, nearestKey } from './nearest.ts';

/** What a spelling of a key stands for. */
export type NamedKey =
  | { kind: 'value'; key: readonly string[]; spec: KeySpec }
  /** Its list is added to that of `key`. */
  | { kind: 'addition'; key: readonly string[]; spec: KeySpec }
  /** `SKILL_<NAME>`: a skill switched off or on. */
  | { kind: 'switch'; skill: string }
  /** A table of texts given in one go: `name=value, name=value`. */
  | { kind: 'table'; key: readonly string[]; spec: KeySpec };

const ENVIRONMENT_PREFIX = 'REASONIX_';

/** SCORPIOX's name for a key: `TOOL_SEARCHSKILLS`, `ADDITIONAL_SKILLS`. */
const aliases: ReadonlyMap<string, NamedKey> = new Map(
  (Object.entries(KEYS) as [string, KeySpec][]).flatMap(([key, spec]) => {
    const segments = key.split('.');
    const names: [string, NamedKey][] = [];
    if (spec.alias) names.push([spec.alias, { kind: 'value', key: segments, spec }]);
    if (spec.addedBy) names.push([spec.addedBy, { kind: 'addition', key: segments, spec }]);
    return names;
  }),
);

const aliasNames: readonly string[] = [...aliases.keys()];

/** `skills.max_depth` → `REASONIX_SKILLS__MAX_DEPTH`. */
export const environmentName = (key: string): string =>
  `${ENVIRONMENT_PREFIX}${key.toUpperCase().replaceAll('.', '__')}`;

let environmentKeys: Map<string, NamedKey> | undefined;

/** `REASONIX_…` names; only keys without a name of the user's choice have one. */
function environmentKey(name: string): NamedKey | undefined {
  if (!environmentKeys) {
    environmentKeys = new Map();
    for (const [key, spec] of Object.entries(KEYS) as [string, KeySpec][]) {
      const segments = key.split('.');
      const isTable = segments.at(-1) === '*';
      const named = isTable ? segments.slice(0, -1) : segments;
      if (named.includes('*')) continue;
      environmentKeys.set(environmentName(named.join('.')), { kind: isTable ? 'table' : 'value', key: named, spec });
    }
  }
  return environmentKeys.get(name);
}

/** `SKILL_CREATE_COMMAND` → `create-command`. */
function skillSwitch(name: string): NamedKey | undefined {
  const match = /^SKILL_(?!LIST_)([A-Z0-9_]+)$/.exec(name);
  return match ? { kind: 'switch', skill: match[1]!.toLowerCase().replaceAll('_', '-') } : undefined;
}

/** A name as the environment and SCORPIOX files spell it. */
export const outerName = (name: string): NamedKey | undefined =>
  aliases.get(name) ?? (name.startsWith(ENVIRONMENT_PREFIX) ? environmentKey(name) : skillSwitch(name));

/** A name in any spelling: dotted, `REASONIX_…` or SCORPIOX's. */
export function anyName(name: string): NamedKey | undefined {
  const outer = outerName(name);
  if (outer) return outer;
  const key = splitKey(name);
  if (!key) return undefined;
  const spec = specOf(key);
  if (spec) return { kind: 'value', key, spec };
  const tableSpec = findNode(keyRoot, key)?.children.get('*')?.spec;
  return tableSpec && { kind: 'table', key, spec: tableSpec };
}

/** The valid spelling that resembles `name`, in the same style of writing. */
export function nearestName(name: string): string | undefined {
  if (name.startsWith(ENVIRONMENT_PREFIX)) {
    const key = nearestKey(name.slice(ENVIRONMENT_PREFIX.length).toLowerCase().split('__'));
    return key === undefined || key.includes('NAME') ? undefined : environmentName(key);
  }
  if (/^[A-Z0-9_]+$/.test(name)) return nearest(name, aliasNames);
  return nearestKey(splitKey(name) ?? name.split('.'));
}

export const unknownName = (name: string): string => {
  const suggestion = nearestName(name);
  return `unknown key ${joinKeyOrName(name)}${suggestion ? `; the nearest valid key is ${suggestion}` : ''}`;
};

const joinKeyOrName = (name: string): string => {
  const key = splitKey(name);
  return key ? joinKey(key) : JSON.stringify(name);
};
