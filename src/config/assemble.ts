import { HOOK_MOMENTS, type HookSettings } from '../core/hook-settings.ts';
import type { ValueSource } from './cascade.ts';
import type { Config } from './config.ts';
import { type ConfigValue, joinKey } from './key-spec.ts';
import { fixedKeys } from './keys.ts';
import type { Assignment, Layer } from './layer.ts';
import type { Problem } from './problems.ts';

/** What one tier refuses no other tier allows again: a cloned project cannot lift its user's refusals. */
const REFUSALS = ['permissions.deny', 'sandbox.forbid_read'] as const;

type Section = { [name: string]: Section | ConfigValue };

/** Folds the layers, highest first, into one configuration; every key from the highest layer that sets it. */
export function assemble(layers: readonly Layer[]): { config: Config; sources: Map<string, ValueSource> } {
  const sources = new Map<string, ValueSource>();
  const root: Section = {};
  for (const [key, spec] of fixedKeys) {
    if (spec.default === undefined) ensureSection(root, key.split('.').slice(0, -1));
    else place(root, sources, key.split('.'), { tier: 'default', key: [], value: copy(spec.default) });
  }
  ensureSection(root, ['agent', 'subagent_models']);

  for (const layer of [...layers].reverse()) {
    for (const found of layer.values.values()) place(root, sources, found.key, found);
  }
  for (const key of ['skills.paths', 'skills.required.names']) {
    const added = layers.find((layer) => layer.additions.has(key))?.additions.get(key);
    if (added) append(root, sources, layers, key, added, added.value as string[]);
  }
  for (const key of REFUSALS) {
    for (const layer of layers) {
      const found = [...layer.values.values()].find((one) => joinKey(one.key) === key);
      if (found) append(root, sources, layers, key, found, found.value as string[]);
    }
  }
  for (const [skill, found] of decidedSwitches(layers)) {
    if (found.value === false) append(root, sources, layers, 'skills.disabled_skills', found, [skill]);
  }

  const { profile, ...rest } = root;
  const providers = namedList(layers, root, 'providers').map((entry) => ({ ...entry, models: entry.models ?? [] }));
  const mcp = namedList(layers, root, 'mcp');
  const config = { ...rest, providers, mcp, hooks: namedList(layers, root, 'hooks') };
  const chosen = profile === 'off' ? {} : { profile };
  return { config: { ...config, ...(profile === undefined ? {} : chosen) } as unknown as Config, sources };
}

const copy = (value: ConfigValue): ConfigValue => (Array.isArray(value) ? [...value] : value);

function place(root: Section, sources: Map<string, ValueSource>, key: readonly string[], found: Assignment): void {
  const section = ensureSection(root, key.slice(0, -1));
  section[key.at(-1)!] = copy(found.value);
  sources.set(joinKey(key), sourceOf(found, found.value));
}

function ensureSection(root: Section, path: readonly string[]): Section {
  let section = root;
  for (const name of path) {
    if (!Object.hasOwn(section, name)) section[name] = {};
    section = section[name] as Section;
  }
  return section;
}

const sourceOf = ({ tier, path, line, name }: Assignment, value: ConfigValue): ValueSource => ({
  value,
  tier,
  path,
  line,
  name,
});

/** Adds to a list. The value then comes from two places: the higher one is named. */
function append(
  root: Section,
  sources: Map<string, ValueSource>,
  layers: readonly Layer[],
  key: string,
  found: Assignment,
  items: readonly string[],
): void {
  const segments = key.split('.');
  const section = ensureSection(root, segments.slice(0, -1));
  const before = (section[segments.at(-1)!] ?? []) as string[];
  const value = [...before, ...items.filter((item) => !before.includes(item))];
  section[segments.at(-1)!] = value;
  const known = sources.get(key);
  const rank = (place: { tier: string; path?: string | undefined }): number => {
    const index = layers.findIndex((layer) => layer.tier === place.tier && layer.path === place.path);
    return index < 0 ? layers.length : index;
  };
  const higher = !known || rank(found) <= rank(known) ? sourceOf(found, value) : { ...known, value };
  sources.set(key, higher);
}

/** The highest word about each `SKILL_<NAME>`. */
function decidedSwitches(layers: readonly Layer[]): Map<string, Assignment> {
  const decided = new Map<string, Assignment>();
  for (const layer of layers) {
    for (const [skill, found] of layer.switches) if (!decided.has(skill)) decided.set(skill, found);
  }
  return decided;
}

/** Entries in order of precedence of the files; those only known to environment or command line last. */
function namedList(layers: readonly Layer[], root: Section, section: string): (Section & { name: string })[] {
  const entries = root[section] as Section | undefined;
  if (!entries) return [];
  const names = new Set<string>();
  const inFiles = layers.filter((layer) => layer.path !== undefined);
  for (const layer of [...inFiles, ...layers]) {
    for (const { key } of layer.values.values()) if (key[0] === section) names.add(key[1]!);
  }
  return [...names].map((name) => ({ ...(entries[name] as Section), name }));
}

/** What only shows when all tiers are together: an entry without its kind, half a price. */
export function checkEntries(config: Config, sources: ReadonlyMap<string, ValueSource>): Problem[] {
  const problems: Problem[] = [];
  const report = (key: readonly string[], message: string): void => {
    const prefix = joinKey(key);
    const entry = [...sources].find(([known]) => known === prefix || known.startsWith(`${prefix}.`));
    const { value: _, ...where } = entry?.[1] ?? { value: '', tier: 'default' as const };
    problems.push({ ...where, message });
  };
  for (const provider of config.providers) {
    const key = ['providers', provider.name];
    if (!provider.kind)
      report(key, `provider "${provider.name}" has no kind: set one of openai, responses, anthropic, scripted`);
    if (provider.kind === 'scripted' && !provider.script) {
      report(key, `provider "${provider.name}" is scripted, but has no script: name its YAML file`);
    }
    for (const [model, price] of Object.entries(provider.prices ?? {})) {
      if (price.input === undefined || price.output === undefined) {
        report([...key, 'prices', model], `the price of "${model}" needs both input and output`);
      }
    }
  }
  for (const { name, command, url } of config.mcp) {
    if ((command === undefined) === (url === undefined))
      report(['mcp', name], `the MCP server "${name}" needs either a command or a url`);
  }
  for (const { name, command, on = [] } of config.hooks as Partial<HookSettings>[]) {
    const key = ['hooks', name ?? ''];
    if (command === undefined) report(key, `the hook "${name}" has no command`);
    if (on.length === 0)
      report(key, `the hook "${name}" does not say when: set on to some of ${HOOK_MOMENTS.join(', ')}`);
    for (const moment of on) {
      if (!HOOK_MOMENTS.includes(moment))
        report([...key, 'on'], `${JSON.stringify(moment)} is no moment of a hook: expected ${HOOK_MOMENTS.join(', ')}`);
    }
  }
  return problems;
}
