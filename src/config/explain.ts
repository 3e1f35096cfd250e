import { ReasonixError } from '../core/errors.ts';
import type { LoadedConfig, ValueSource } from './cascade.ts';
import { type ConfigValue, findNode, joinKey, type KeySpec, NAMED_LISTS, splitKey } from './key-spec.ts';
import { KEYS, keyRoot, specOf } from './keys.ts';
import type { Assignment } from './layer.ts';
import { maskValue } from './mask.ts';
import { anyName, environmentName, unknownName } from './names.ts';
import { TIERS, type Tier } from './problems.ts';
import { expectation } from './values.ts';

export type ShownValue = ConfigValue | null | { [name: string]: ShownValue } | ShownValue[];

/** A key as `config get --json` prints it. `value` is null when it is unset, `path` when no file set it. */
export interface ConfigEntry {
  key: string;
  /** Secrets masked, durations in milliseconds, sizes in bytes. */
  value: ShownValue;
  tier: Tier;
  path: string | null;
}

/** What one place says about a key. */
export interface TierValue {
  tier: Tier;
  path: string | null;
  line: number | null;
  /** Spelling used there, when it is not the dotted key. */
  name: string | null;
  value: ShownValue;
  /** This is the value in force; an added list takes part beside it. */
  wins: boolean;
  added: boolean;
}

export interface KeyExplanation extends ConfigEntry {
  doc: string;
  expects: string;
  default: ShownValue;
  /** Other spellings: environment, command line, SCORPIOX files. */
  names: string[];
  /** Highest tier first; the default last. */
  values: TierValue[];
}

/**
 * The value in force of a key in any spelling, or of a section with all that is set in it; of a
 * section the strongest tier that has part in it is named.
 * @throws ReasonixError `usage` for an unknown key, naming the nearest one.
 */
export function getKey(loaded: LoadedConfig, name: string): ConfigEntry {
  const key = canonicalKey(name);
  if (specOf(key)) return entry(loaded, joinKey(key));
  return sectionEntry(loaded, key);
}

/** Every key with its value: the fixed ones, and those with a name of the user's choice that are set. */
export function listKeys(loaded: LoadedConfig): ConfigEntry[] {
  const byPattern = groupByPattern(loaded.sources.keys());
  return Object.keys(KEYS).flatMap((pattern) =>
    pattern.includes('*') ? (byPattern.get(pattern) ?? []).map((key) => entry(loaded, key)) : [entry(loaded, pattern)],
  );
}

/**
 * What every place says about a key, the winner marked.
 * @throws ReasonixError `usage` for an unknown key and for a section.
 */
export function explainKey(loaded: LoadedConfig, name: string): KeyExplanation {
  const segments = canonicalKey(name);
  const spec = specOf(segments);
  if (!spec) throw isSection(name, segments);
  const key = joinKey(segments);
  const values: TierValue[] = [];
  const winner = loaded.layers.find((layer) => layer.values.has(key));
  for (const layer of loaded.layers) {
    const found = layer.values.get(key);
    if (found) values.push(tierValue(spec, found, { wins: layer === winner, added: false }));
    const added = layer.additions.get(key);
    if (added) values.push(tierValue(spec, added, { wins: isFirst(loaded, added, key), added: true }));
    if (key !== 'skills.disabled_skills') continue;
    for (const [skill, found] of layer.switches) {
      const wins = found.value === false && loaded.layers.find((other) => other.switches.has(skill)) === layer;
      values.push(tierValue(spec, { ...found, value: found.value ? [] : [skill] }, { wins, added: true }));
    }
  }
  const fallback = spec.default === undefined ? null : maskValue(spec, spec.default);
  values.push({ tier: 'default', path: null, line: null, name: null, value: fallback, wins: !winner, added: false });
  return {
    ...entry(loaded, key),
    doc: spec.doc,
    expects: expectation(spec),
    default: fallback,
    names: otherNames(key, spec),
    values,
  };
}

const isFirst = (loaded: LoadedConfig, added: Assignment, key: string): boolean =>
  loaded.layers.find((layer) => layer.additions.has(key))?.additions.get(key) === added;

function tierValue(spec: KeySpec, found: Assignment, state: { wins: boolean; added: boolean }): TierValue {
  return {
    tier: found.tier,
    path: found.path ?? null,
    line: found.line ?? null,
    name: found.name ?? null,
    value: maskValue(spec, found.value),
    ...state,
  };
}

/** Environment and SCORPIOX names of a key. */
function otherNames(key: string, spec: KeySpec): string[] {
  const own = patternOf(key).includes('*') ? [] : [environmentName(key)];
  return [...own, ...(spec.alias ? [spec.alias] : []), ...(spec.addedBy ? [spec.addedBy] : [])];
}

/** The dotted key behind any spelling of a key or section. */
function canonicalKey(name: string): readonly string[] {
  const named = anyName(name);
  if (named) return named.kind === 'switch' ? ['skills', 'disabled_skills'] : named.key;
  const key = splitKey(name);
  if (key && findNode(keyRoot, key)) return key;
  throw new ReasonixError('usage', unknownName(name), { hint: 'see every key with `reasonix config list`' });
}

const isSection = (name: string, key: readonly string[]): ReasonixError => {
  const children = [...findNode(keyRoot, key)!.children.keys()].map((child) =>
    joinKey([...key, child === '*' ? 'NAME' : child]),
  );
  return new ReasonixError('usage', `${name} is a section, not a key`, { hint: `keys in it: ${children.join(', ')}` });
};

function entry(loaded: LoadedConfig, key: string): ConfigEntry {
  const source = loaded.sources.get(key);
  if (!source) return { key, value: null, tier: 'default', path: null };
  return { key, value: maskValue(specOf(splitKey(key)!), source.value), tier: source.tier, path: source.path ?? null };
}

function sectionEntry(loaded: LoadedConfig, key: readonly string[]): ConfigEntry {
  const root: { [name: string]: ShownValue } = {};
  let strongest: ValueSource | undefined;
  for (const [name, source] of loaded.sources) {
    const segments = splitKey(name)!;
    if (!key.every((segment, index) => segments[index] === segment)) continue;
    let section = root;
    for (const part of segments.slice(key.length, -1)) {
      section[part] ??= {};
      section = section[part] as typeof root;
    }
    section[segments.at(-1)!] = maskValue(specOf(segments), source.value);
    if (!strongest || TIERS.indexOf(source.tier) < TIERS.indexOf(strongest.tier)) strongest = source;
  }
  const isList = key.length === 1 && NAMED_LISTS.includes(key[0] ?? '');
  const value = isList
    ? loaded.config[key[0] as 'providers'].map(({ name }) => ({ name, ...(root[name] as typeof root) }))
    : root;
  const tier = strongest?.tier ?? 'default';
  return { key: joinKey(key), value, tier, path: strongest?.path ?? null };
}

const patternOf = (key: string): string => findNode(keyRoot, splitKey(key) ?? [])?.pattern.join('.') ?? key;

function groupByPattern(keys: Iterable<string>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const key of keys) {
    const pattern = patternOf(key);
    groups.set(pattern, [...(groups.get(pattern) ?? []), key]);
  }
  return groups;
}
