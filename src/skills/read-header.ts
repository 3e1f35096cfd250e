import type { ToolRule } from '../core/tool-rules.ts';
import type { Field, Value } from './front-matter.ts';
import { type KeyId, keyInMetadata, keyOf } from './keys.ts';
import { intersectRules, readTools } from './tool-lists.ts';
import type { Diagnostic, RunAs, Skill, SkillLimits } from './types.ts';
import {
  type Reading,
  readChoice,
  readCount,
  readDuration,
  readFlag,
  readList,
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

type Report = (code: string, field: Field | undefined, message: string, severity?: Diagnostic['severity']) => void;

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
    argumentHint: keys.text('argument-hint'),
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

/** All fields of each known key, the canonical spelling first. */
class Occurrences {
  readonly #fields = new Map<KeyId, Field[]>();
  readonly #report: Report;

  constructor(fields: readonly Field[], report: Report) {
    this.#report = report;
    for (const field of fields) this.#add(keyOf(field.key), field);
    for (const [id, found] of this.#fields) {
      found.sort((a, b) => Number(b.key === id) - Number(a.key === id));
      if (found.length > 1) {
        const spellings = found.map((field) => `"${field.key}"`).join(', ');
        report('duplicate-key', found[1], `${id} is written ${found.length} times (${spellings})`);
      }
    }
    for (const field of this.of('metadata')) this.#addNested(field);
  }

  get size(): number {
    return this.#fields.size;
  }

  of(id: KeyId): readonly Field[] {
    return this.#fields.get(id) ?? [];
  }

  #add(id: KeyId | undefined, field: Field): void {
    if (id === undefined) return;
    const found = this.#fields.get(id);
    if (found === undefined) this.#fields.set(id, [field]);
    else found.push(field);
  }

  /** `reasonix.max-steps: 5` and `reasonix: {max-steps: 5}` inside `metadata`. */
  #addNested(metadata: Field): void {
    if (typeof metadata.value === 'string' || Array.isArray(metadata.value)) return;
    for (const [key, value] of Object.entries(metadata.value)) {
      const nested = key.toLowerCase() === 'reasonix' && typeof value === 'object' && !Array.isArray(value);
      const entries = nested
        ? Object.entries(value).map(([inner, each]) => [`reasonix.${inner}`, each] as const)
        : [[key, value] as const];
      for (const [written, each] of entries) {
        const raw = typeof each === 'string' ? each : JSON.stringify(each);
        this.#add(keyInMetadata(written), { key: written, value: each, raw, line: metadata.line });
      }
    }
  }

  text(id: KeyId): string | undefined {
    for (const field of this.of(id)) {
      const isText = typeof field.value === 'string';
      if (!isText && id !== 'argument-hint') {
        this.#report('not-text', field, `${field.key} should be text, but it is a ${kindOf(field.value)}`);
      }
      if (field.cut) {
        const message = `${field.key} ends before " #", which starts a comment: quote the value to keep the rest`;
        this.#report('comment-in-value', field, message);
      }
      const text = (isText ? (field.value as string) : field.raw).trim();
      if (text !== '') return text;
    }
    return undefined;
  }

  list(id: KeyId, separators: 'commas' | 'commas-and-blanks'): string[] {
    const all = this.of(id).flatMap((field) => {
      const reading = readList(field.value, separators);
      if (reading.is === 'unreadable' || field.unreadable) this.#unreadable(field, 'it is ignored');
      return reading.is === 'set' ? reading.value : [];
    });
    return [...new Set(all)];
  }

  /** Of everything written, the value that comes first in `order`; that is also what an unreadable one means. */
  strictest<T>(id: KeyId, read: (value: Value) => Reading<T>, order: readonly [T, ...T[]]): T | undefined {
    const values = this.#readings(id, read, order[0]);
    return order.find((value) => values.includes(value));
  }

  /** The smallest number written; an unreadable one counts as `least`. */
  smallest(id: KeyId, read: (value: Value) => Reading<number>, least: number): number | undefined {
    const values = this.#readings(id, read, least);
    return values.length === 0 ? undefined : Math.min(...values);
  }

  #readings<T>(id: KeyId, read: (value: Value) => Reading<T>, narrowest: T): T[] {
    return this.of(id).flatMap((field) => {
      const reading: Reading<T> = field.unreadable ? { is: 'unreadable' } : read(field.value);
      if (reading.is === 'unreadable') this.#unreadable(field, `it counts as ${JSON.stringify(narrowest)}`);
      return reading.is === 'set' ? [reading.value] : reading.is === 'unset' ? [] : [narrowest];
    });
  }

  #unreadable(field: Field, consequence: string): void {
    const source = field.raw.length > 60 ? `${field.raw.slice(0, 60)}…` : field.raw;
    this.#report('unreadable-value', field, `${field.key} cannot be read ("${source.toWellFormed()}"): ${consequence}`);
  }
}

const kindOf = (value: Value): string => (Array.isArray(value) ? 'list' : 'mapping');

const inherited = (text: string | undefined): string | undefined => (text === 'inherit' ? undefined : text);

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

function limits(keys: Occurrences): SkillLimits {
  const all: SkillLimits = {
    maxSteps: keys.smallest('max-steps', (value) => readCount(value, 1), 1),
    maxTokens: keys.smallest('max-tokens', (value) => readCount(value, 1), 1),
    maxCost: keys.smallest('max-cost', readMoney, 0),
    timeout: keys.smallest('timeout', readDuration, 1),
    maxDepth: keys.smallest('max-depth', (value) => readCount(value, 0), 0),
    maxSpawns: keys.smallest('max-spawns', (value) => readCount(value, 0), 0),
  };
  return Object.fromEntries(Object.entries(all).filter(([, limit]) => limit !== undefined));
}

function allowedTools(keys: Occurrences, report: Report): { allowed?: ToolRule[] | undefined; disallowed: ToolRule[] } {
  let allowed: ToolRule[] | undefined;
  const disallowed: ToolRule[] = [];
  for (const id of ['allowed-tools', 'disallowed-tools'] as const) {
    for (const field of keys.of(id)) {
      const list = readTools(field);
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
