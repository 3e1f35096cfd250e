import type { ToolRule } from '../core/tool-rules.ts';
import type { Field, Value } from './front-matter.ts';
import type { KeyId } from './keys.ts';
import { Occurrences, type Report } from './occurrences.ts';
import { intersectRules, readTools } from './tool-lists.ts';
import type { RunAs, Skill, SkillLimits } from './types.ts';
import {
  isNothing,
  type Reading,
  readChoice,
  readCount,
  readDuration,
  readFlag,
  readMoney,
  readParameters,
} from './values.ts';

/** What the front matter says, before names and defaults that come from the file. */
export interface HeaderValues
  extends Omit<
    Skill,
    | 'name'
    | 'description'
    | 'invocation'
    | 'scope'
    | 'file'
    | 'folder'
    | 'root'
    | 'layout'
    | 'stamp'
    | 'diagnostics'
    | 'shadows'
  > {
  name?: string | undefined;
  description?: string | undefined;
  invocation?: 'auto' | 'manual' | undefined;
  /** At least one key means something here. */
  hasKnownKey: boolean;
}

/**
 * Turns the fields of a front matter into the values of a skill. A key written more than once, in
 * whatever spelling, keeps its first text; restrictions add up. A restriction that cannot be read
 * is taken at its narrowest.
 */
export function readHeader(fields: readonly Field[], report: Report): HeaderValues {
  const keys = new Occurrences(fields, report);
  const toolRules = allowedTools(keys, report);
  const narrow = permissionMode(keys);
  return {
    hasKnownKey: keys.size > 0,
    name: keys.text('name'),
    description: keys.text('description') ?? keys.text('when-to-use'),
    runAs: runAs(keys),
    invocation: keys.strictest('invocation', invocationOf, ['manual', 'auto']),
    disableModelInvocation: keys.strictest('disable-model-invocation', readFlag, [true, false]) ?? false,
    userInvocable: keys.strictest('user-invocable', readFlag, [false, true]) ?? true,
    allowedTools: toolRules.allowed,
    disallowedTools: toolRules.disallowed,
    readOnly: keys.strictest('read-only', readFlag, [true, false]) ?? narrow,
    model: inherited(keys.text('model')),
    effort: inherited(keys.text('effort')),
    argumentHint: unlessNothing(keys.text('argument-hint')),
    argumentNames: argumentNames(keys, report),
    requires: keys.list('requires', 'commas'),
    preload: keys.list('skills', 'commas-and-blanks'),
    required: keys.list('required', 'commas-and-blanks'),
    outputSchema: outputSchema(keys, report),
    limits: limits(keys),
    inherit: keys.list('inherit', 'commas-and-blanks'),
    isolation: isolation(keys),
    license: keys.text('license'),
    compatibility: keys.text('compatibility'),
    metadata: metadata(keys, report),
  };
}

/** YAML's `null` is text in a name or a description, as the specification has it; here it would be sent to a provider. */
const unlessNothing = (text: string | undefined): string | undefined =>
  text === undefined || isNothing(text) ? undefined : text;

const inherited = (text: string | undefined): string | undefined =>
  text === 'inherit' ? undefined : unlessNothing(text);

const invocationOf = (value: Value): Reading<'auto' | 'manual'> =>
  readChoice(value, { auto: 'auto', automatic: 'auto', manual: 'manual' });

function runAs(keys: Occurrences): RunAs {
  const runAsOf = (value: Value): Reading<RunAs> =>
    readChoice(value, { inline: 'inline', main: 'inline', subagent: 'subagent', agent: 'subagent', fork: 'subagent' });
  const contextOf = (value: Value): Reading<RunAs> =>
    typeof value === 'string' && value.trim().toLowerCase() === 'fork'
      ? { is: 'set', value: 'subagent' }
      : { is: 'unset' };
  const agentOf = (value: Value): Reading<RunAs> =>
    typeof value === 'string' && /^(?:|~|null|false)$/i.test(value.trim())
      ? { is: 'unset' }
      : { is: 'set', value: 'subagent' };
  const order = ['subagent', 'inline'] as const;
  const said = [
    keys.strictest('run-as', runAsOf, order),
    keys.strictest('context', contextOf, order),
    keys.strictest('agent', agentOf, order),
  ];
  return said.includes('subagent') ? 'subagent' : 'inline';
}

/** Of the modes of other products, `plan` is the one that forbids changes. */
const permissionMode = (keys: Occurrences): boolean =>
  keys
    .of('permission-mode')
    .some((field) => typeof field.value === 'string' && field.value.trim().toLowerCase() === 'plan');

function isolation(keys: Occurrences): 'worktree' | undefined {
  const isolationOf = (value: Value): Reading<'worktree' | 'none'> =>
    readChoice(value, { worktree: 'worktree', none: 'none', false: 'none', no: 'none', off: 'none' });
  return keys.strictest('isolation', isolationOf, ['worktree', 'none']) === 'worktree' ? 'worktree' : undefined;
}

/** Where each limit is written, how it is read, and the least it can be, which is what an unreadable one means. */
const LIMITS: readonly [keyof SkillLimits, KeyId, (value: Value) => Reading<number>, number][] = [
  ['maxSteps', 'max-steps', (value) => readCount(value, 1), 1],
  ['maxTokens', 'max-tokens', (value) => readCount(value, 1), 1],
  ['maxCost', 'max-cost', readMoney, 0],
  ['timeout', 'timeout', readDuration, 1],
  ['maxDepth', 'max-depth', (value) => readCount(value, 0), 0],
  ['maxSpawns', 'max-spawns', (value) => readCount(value, 0), 0],
];

function limits(keys: Occurrences): SkillLimits {
  const all: SkillLimits = {};
  for (const [name, key, read, least] of LIMITS) {
    const limit = keys.smallest(key, read, least);
    if (limit !== undefined) all[name] = limit;
  }
  return all;
}

function allowedTools(keys: Occurrences, report: Report): { allowed?: ToolRule[] | undefined; disallowed: ToolRule[] } {
  let allowed: ToolRule[] | undefined;
  const disallowed: ToolRule[] = [];
  for (const id of ['allowed-tools', 'disallowed-tools'] as const) {
    for (const field of keys.of(id)) {
      const list = readTools(field, id === 'allowed-tools' ? 'allowed' : 'disallowed');
      for (const tool of list.unknown)
        report('unknown-tool', field, `${field.key} names a tool that is not known: ${tool}`);
      if (field.repaired && !list.unreadable)
        report('tools-repaired', field, `${field.key} is no valid list; read as ${namesOf(list.rules)}`);
      if (list.unreadable) {
        const meaning = id === 'allowed-tools' ? 'no tool is allowed' : 'every tool is refused';
        report('unreadable-value', field, `${field.key} cannot be read as a list of tools: ${meaning}`, 'error');
      }
      disallowed.push(...list.refused);
      if (id === 'disallowed-tools') disallowed.push(...(list.unreadable ? [{ tool: '*' }] : (list.rules ?? [])));
      else if (list.unreadable) allowed = [];
      else if (list.rules !== undefined)
        allowed = allowed === undefined ? list.rules : intersectRules(allowed, list.rules);
    }
  }
  return { allowed, disallowed };
}

const namesOf = (rules: readonly ToolRule[] | undefined): string =>
  rules === undefined || rules.length === 0 ? 'none' : rules.map((rule) => rule.tool).join(', ');

const ARGUMENT_NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_-]*$/u;

function argumentNames(keys: Occurrences, report: Report): string[] {
  const names = new Set<string>();
  for (const field of keys.of('arguments')) {
    const reading = readParameters(field.value);
    if (reading.is === 'unreadable' || field.unreadable) {
      report('unreadable-value', field, 'arguments should be a list of names: it is ignored');
    }
    for (const name of reading.is === 'set' ? reading.value : []) {
      if (ARGUMENT_NAME.test(name)) names.add(name.normalize('NFC'));
      else report('argument-name', field, `"${name}" is no name for an argument: letters, digits, "_" and "-" are`);
    }
  }
  return [...names];
}

function outputSchema(keys: Occurrences, report: Report): Record<string, unknown> | undefined {
  for (const field of keys.of('output-schema')) {
    if (typeof field.value === 'string' && field.value.trim() === '' && !field.unreadable) continue;
    const schema = field.typed ?? parseJson(field.value);
    if (typeof schema === 'object' && schema !== null && !Array.isArray(schema) && !field.unreadable) {
      return schema as Record<string, unknown>;
    }
    report('unreadable-value', field, 'output-schema is no JSON Schema object: answers are not checked', 'error');
  }
  return undefined;
}

function parseJson(value: Value): unknown {
  if (typeof value !== 'string') return undefined;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return undefined;
  }
}

function metadata(keys: Occurrences, report: Report): Record<string, unknown> {
  const [field] = keys.of('metadata');
  if (field === undefined) return {};
  if (typeof field.value === 'object' && !Array.isArray(field.value)) return field.value;
  if (field.value !== '')
    report('not-a-mapping', field, 'metadata should be a mapping of keys to values: it is ignored');
  return {};
}
