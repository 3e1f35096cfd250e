import type { KeyNode } from './key-spec.ts';
import { findNode, joinKey, NAMED_LISTS } from './key-spec.ts';
import { keyRoot } from './keys.ts';
import { type Layer, newLayer } from './layer.ts';
import { nearest, nearestKey } from './nearest.ts';
import { configError, type Place, type Problem, type Tier } from './problems.ts';
import { lineOf, scanToml, type TomlStatement } from './toml-scan.ts';
import { absolutePaths, isProfileName, parseTyped } from './values.ts';

export interface TomlFile {
  path: string;
  text: string;
  tier: Tier;
  /** Folder that relative paths start at. */
  base: string;
  home: string;
}

export interface TomlLayers {
  layer: Layer;
  /** By name: the `[profiles.NAME]` tables. */
  profiles: Map<string, Layer>;
  problems: Problem[];
}

type Table = Record<string, unknown>;

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

/**
 * Reads a TOML file against the registry. Every unknown key and wrong value is a problem with its line.
 * @throws ReasonixError `config` when the text is no TOML.
 */
export async function readToml(file: TomlFile): Promise<TomlLayers> {
  const table = await parseTomlText(file.text, { tier: file.tier, path: file.path });
  const reader = new TomlReader(file, scanToml(file.text));
  return reader.read(table);
}

/**
 * TOML text as plain values.
 * @throws ReasonixError `config` with line and column, and never an excerpt.
 */
export async function parseTomlText(text: string, place: Place): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return parse(text, { maxDepth: 64 });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The parser's message goes on with an excerpt, which could hold a secret: no cause either.
    const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '');
    const message = `not valid TOML, column ${error.column}: ${reason}`;
    throw configError([{ ...place, line: error.line, message }], undefined, FORM);
  }
}

const FORM = 'texts stand in quotes (name = "value"), lists in [ ], and a section begins with [name] or [[name]]';

class TomlReader {
  readonly #file: TomlFile;
  readonly #statements: readonly TomlStatement[];
  readonly #problems: Problem[] = [];

  constructor(file: TomlFile, statements: readonly TomlStatement[]) {
    this.#file = file;
    this.#statements = statements;
  }

  read(table: Table): TomlLayers {
    const layer = newLayer(this.#file.tier, this.#file.path);
    const profiles = new Map<string, Layer>();
    const { profiles: profileTables, ...rest } = table;
    if (profileTables !== undefined) {
      if (isTable(profileTables)) this.#readProfiles(profileTables, profiles);
      else this.#problem(['profiles'], 'expected tables [profiles.NAME]');
    }
    this.#walk(rest, [], [], layer, keyRoot);
    return { layer, profiles, problems: this.#problems };
  }

  #readProfiles(tables: Table, profiles: Map<string, Layer>): void {
    for (const [name, table] of Object.entries(tables)) {
      if (!isTable(table) || !isProfileName(name)) {
        this.#problem(['profiles', name], 'expected a table [profiles.NAME]; a name has no blanks, slashes or ".."');
        continue;
      }
      const layer = newLayer('profile', this.#file.path);
      const { profile, profiles: nested, ...rest } = table;
      if (profile !== undefined || nested !== undefined) {
        const key = profile === undefined ? 'profiles' : 'profile';
        this.#problem(['profiles', name, key], 'a profile cannot choose or hold another profile');
      }
      this.#walk(rest, [], ['profiles', name], layer, keyRoot);
      profiles.set(name, layer);
    }
  }

  /** `raw` is the path in the file, which has numbers where `key` has the names of array entries. */
  #walk(table: Table, key: readonly string[], raw: readonly string[], layer: Layer, node: KeyNode): void {
    for (const [segment, value] of Object.entries(table)) {
      const childKey = [...key, segment];
      const childRaw = [...raw, segment];
      const child = findNode(node, [segment]);
      if (!child) {
        this.#unknown(childKey, childRaw, value, node);
      } else if (child.spec) {
        this.#assign(childKey, childRaw, value, layer, child);
      } else if (childKey.length === 1 && NAMED_LISTS.includes(segment)) {
        this.#walkEntries(value, childKey, childRaw, layer, child);
      } else if (isTable(value)) {
        this.#walk(value, childKey, childRaw, layer, child);
      } else {
        this.#problem(childRaw, `${joinKey(childKey)} is a section: expected a table [${joinKey(childKey)}]`);
      }
    }
  }

  #walkEntries(value: unknown, key: readonly string[], raw: readonly string[], layer: Layer, node: KeyNode): void {
    const section = joinKey(key);
    if (!Array.isArray(value)) {
      this.#problem(raw, `expected [[${section}]] entries, each with a name`);
      return;
    }
    const seen = new Set<string>();
    for (const [index, entry] of value.entries()) {
      const entryRaw = [...raw, String(index)];
      if (!isTable(entry)) {
        this.#problem(entryRaw, `expected [[${section}]] entries, each with a name`);
        continue;
      }
      const { name, ...fields } = entry;
      const entryNode = typeof name === 'string' ? findNode(node, [name]) : undefined;
      if (typeof name !== 'string' || !entryNode) {
        const message = name === undefined ? `this [[${section}]] entry has no name` : 'name: expected a text';
        this.#problem(name === undefined ? entryRaw : [...entryRaw, 'name'], message);
        continue;
      }
      if (seen.has(name)) this.#problem([...entryRaw, 'name'], `the name "${name}" is used twice in ${section}`);
      seen.add(name);
      if (Object.keys(fields).length === 0) this.#problem(entryRaw, `the [[${section}]] entry "${name}" sets nothing`);
      this.#walk(fields, [...key, name], entryRaw, layer, entryNode);
    }
  }

  #assign(key: readonly string[], raw: readonly string[], value: unknown, layer: Layer, node: KeyNode): void {
    if (typeof value === 'string' && value.trim() === '') return;
    const spec = node.spec!;
    const parsed = parseTyped(spec, value);
    if (!parsed.ok) {
      this.#problem(raw, `${joinKey(key)}: expected ${parsed.expected}, found ${parsed.found}`);
      return;
    }
    layer.values.set(joinKey(key), {
      key,
      value: absolutePaths(spec, parsed.value, this.#file.base, this.#file.home),
      tier: layer.tier,
      path: this.#file.path,
      line: lineOf(this.#statements, raw),
    });
  }

  #unknown(key: readonly string[], raw: readonly string[], value: unknown, parent: KeyNode): void {
    const valid = [...parent.children.keys()].filter((name) => name !== '*');
    const isSection = isTable(value) || (Array.isArray(value) && value.some(isTable));
    const siblings = valid.map((name) => joinKey([...key.slice(0, -1), name]));
    const suggestion = isSection ? nearest(joinKey(key), siblings) : nearestKey(key);
    const hint = suggestion ? `the nearest valid key is ${suggestion}` : `valid here: ${valid.join(', ')}`;
    this.#problem(raw, `unknown ${isSection ? 'section' : 'key'} ${joinKey(key)}; ${hint}`);
  }

  #problem(raw: readonly string[], message: string): void {
    const line = lineOf(this.#statements, raw);
    this.#problems.push({ tier: this.#file.tier, path: this.#file.path, line, message });
  }
}
