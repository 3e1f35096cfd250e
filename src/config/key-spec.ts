/** A setting's value after validation: durations in milliseconds, sizes in bytes, paths absolute. */
export type ConfigValue = string | boolean | number | string[];

export type KeyType = 'string' | 'boolean' | 'integer' | 'number' | 'duration' | 'bytes' | 'list' | 'path' | 'paths';

/** What is known about one key. The doc comment of the key is `doc`, one line. */
export interface KeySpec {
  readonly type: KeyType;
  readonly doc: string;
  /** Absent: the key is unset unless somebody sets it. */
  readonly default?: ConfigValue;
  readonly min?: number;
  /** Why there is such a least value. */
  readonly minWhy?: string;
  readonly max?: number;
  readonly choices?: readonly string[];
  readonly format?: 'url' | 'variable' | 'profile';
  /** Name in the environment and in SCORPIOX files, beside `REASONIX_A__B_C`. */
  readonly alias?: string;
  /** SCORPIOX name whose list is added to the value instead of replacing it. */
  readonly addedBy?: string;
  /** `${NAME}` in a path is a variable of the environment. */
  readonly variables?: true;
  /** The value must not be shown. */
  readonly secret?: boolean;
}

/** A key's place in the registry; `*` stands for a name that the user chooses. */
export interface KeyNode {
  readonly pattern: readonly string[];
  readonly spec: KeySpec | undefined;
  readonly children: ReadonlyMap<string, KeyNode>;
}

/** Sections that a file writes as `[[section]]` entries, each with a name. */
export const NAMED_LISTS: readonly string[] = ['providers', 'mcp', 'hooks'];

const BARE = /^[A-Za-z0-9_-]+$/;

/** `['providers', 'x', 'prices', 'gpt-4.1']` → `providers.x.prices."gpt-4.1"`, as TOML writes it. */
export const joinKey = (segments: readonly string[]): string =>
  segments.map((segment) => (BARE.test(segment) ? segment : JSON.stringify(segment))).join('.');

/** The segments of a dotted key, or `undefined` when it is not one. */
export function splitKey(key: string): string[] | undefined {
  const segments: string[] = [];
  const part = /\s*(?:([A-Za-z0-9_-]+)|("(?:[^"\\]|\\.)*")|'([^']*)')\s*(\.|$)/y;
  while (part.lastIndex < key.length) {
    const match = part.exec(key);
    if (!match) return undefined;
    const segment = match[1] ?? match[3] ?? unquote(match[2] ?? '');
    if (segment === undefined) return undefined;
    segments.push(segment);
    if (match[4] === '') return segments;
  }
  return undefined;
}

function unquote(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** The tree over all keys of a registry. */
export function keyTree(keys: Readonly<Record<string, KeySpec>>): KeyNode {
  interface Draft extends KeyNode {
    spec: KeySpec | undefined;
    children: Map<string, Draft>;
  }
  const root: Draft = { pattern: [], spec: undefined, children: new Map() };
  for (const [key, spec] of Object.entries(keys)) {
    let node = root;
    for (const segment of key.split('.')) {
      let next = node.children.get(segment);
      if (!next) {
        next = { pattern: [...node.pattern, segment], spec: undefined, children: new Map() };
        node.children.set(segment, next);
      }
      node = next;
    }
    node.spec = spec;
  }
  return root;
}

/** The node of a key, or of a section; names in place of `*` must not be empty. */
export function findNode(root: KeyNode, segments: readonly string[]): KeyNode | undefined {
  let node: KeyNode | undefined = root;
  for (const segment of segments) {
    if (segment === '' || segment === '*' || segment === '__proto__') return undefined;
    node = node.children.get(segment) ?? node.children.get('*');
    if (!node) return undefined;
  }
  return node;
}
