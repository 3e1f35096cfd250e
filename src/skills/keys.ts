/** How the value of a key is read. */
export type KeyKind =
  | 'text'
  | 'tools'
  | 'flag'
  | 'names'
  | 'phrases'
  | 'parameters'
  | 'count'
  | 'money'
  | 'duration'
  | 'choice'
  | 'mapping'
  | 'schema';

export interface KeyRule {
  kind: KeyKind;
  /** Other spellings in files of other products. Blanks, dashes, underscores and case never matter. */
  aliases?: readonly string[];
  /** It narrows what a skill may do: it survives every repair, and unreadable it is at its narrowest. */
  restricts?: true;
}

/** Every key of a front matter that means something here, by its canonical spelling. */
export const KEY_RULES = {
  name: { kind: 'text' },
  description: { kind: 'text' },
  license: { kind: 'text' },
  compatibility: { kind: 'text' },
  metadata: { kind: 'mapping' },
  'when-to-use': { kind: 'text' },
  'allowed-tools': { kind: 'tools', aliases: ['tools', 'tool-access'], restricts: true },
  'disallowed-tools': { kind: 'tools', aliases: ['denied-tools'], restricts: true },
  'disable-model-invocation': { kind: 'flag', restricts: true },
  'user-invocable': { kind: 'flag', aliases: ['user-invokable'], restricts: true },
  'read-only': { kind: 'flag', restricts: true },
  'permission-mode': { kind: 'text', restricts: true },
  'run-as': { kind: 'choice', restricts: true },
  context: { kind: 'text', restricts: true },
  agent: { kind: 'text', restricts: true },
  invocation: { kind: 'choice', restricts: true },
  isolation: { kind: 'choice', restricts: true },
  'max-steps': { kind: 'count', aliases: ['max-turns'], restricts: true },
  'max-tokens': { kind: 'count', restricts: true },
  'max-cost': { kind: 'money', restricts: true },
  'max-depth': { kind: 'count', restricts: true },
  'max-spawns': { kind: 'count', aliases: ['max-children'], restricts: true },
  timeout: { kind: 'duration', restricts: true },
  model: { kind: 'text' },
  effort: { kind: 'text' },
  'argument-hint': { kind: 'text' },
  arguments: { kind: 'parameters' },
  requires: { kind: 'phrases' },
  skills: { kind: 'names' },
  required: { kind: 'names' },
  inherit: { kind: 'names' },
  'output-schema': { kind: 'schema' },
} as const satisfies Record<string, KeyRule>;

export type KeyId = keyof typeof KEY_RULES;

export const ruleOf = (key: KeyId): KeyRule => KEY_RULES[key];

const squeeze = (key: string): string => key.replace(/[-_\s]/g, '').toLowerCase();

const BY_SPELLING = new Map<string, KeyId>();
for (const [key, rule] of Object.entries(KEY_RULES) as [KeyId, KeyRule][]) {
  for (const spelling of [key, ...(rule.aliases ?? [])]) BY_SPELLING.set(squeeze(spelling), key);
}

/** The key that a spelling stands for: `allowed_tools`, `allowedTools` and `tools` are one. */
export const keyOf = (written: string): KeyId | undefined =>
  BY_SPELLING.get(written) ?? BY_SPELLING.get(squeeze(written));

/** The key that `metadata` may carry as `reasonix.<key>`; identity never comes from there. */
export function keyInMetadata(written: string): KeyId | undefined {
  const key = /^reasonix\.(.+)$/is.exec(written)?.[1];
  const known = key === undefined ? undefined : keyOf(key);
  return known === 'name' || known === 'description' || known === 'metadata' ? undefined : known;
}
