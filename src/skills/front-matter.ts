import { messageOf } from '../core/errors.ts';
import { keyOf } from './keys.ts';
import { recoverFields } from './recover.ts';
import { readSimpleYaml } from './simple-yaml.ts';

/** What a header can hold; every scalar is text, whatever it looks like. */
export type Value = string | Value[] | { [key: string]: Value };

/** One top-level entry of a front matter. */
export interface Field {
  /** As written. */
  key: string;
  /** Empty text when nothing was written. */
  value: Value;
  /** The value's source, as written. */
  raw: string;
  /** From 1; in the header, until `readFrontMatter` makes it the line of the file. */
  line: number;
  /** The value is no YAML and was guessed from its source, or could not be read at all. */
  repaired?: true;
  /** Not even a guess was possible; `value` is empty. */
  unreadable?: true;
  /** YAML took the end of the line for a comment. */
  cut?: true;
  /** Of an output schema: the value with its numbers and booleans. */
  typed?: unknown;
}

export interface Fault {
  line: number;
  reason: string;
}

export interface FrontMatter {
  /** Absent when the text between the fences is no mapping of keys to values. */
  fields?: Field[] | undefined;
  /** Why strict reading failed, when the fields had to be recovered one by one. */
  fault?: Fault | undefined;
}

export type Yaml = typeof import('yaml');

/** Headers beyond this many characters are read field by field: no author writes them by hand. */
const LONGEST_STRICT = 128 * 1024;
const DEEPEST_NESTING = 40;
const MOST_ALIASES = 20;

let yaml: Yaml | undefined;

/** The YAML library, loaded when the first file needs it. */
export async function loadYaml(): Promise<Yaml> {
  yaml ??= await import('yaml');
  return yaml;
}

/**
 * Reads a header: as strict YAML, and where that fails field by field. `firstLine` is the line of the
 * file that the header starts at. Never throws.
 */
export async function readFrontMatter(header: string, firstLine: number): Promise<FrontMatter> {
  const typed = /output[-_ ]?schema/i.test(header);
  const simple = typed ? undefined : readSimpleYaml(header);
  const result: FrontMatter = simple === undefined ? readWith(await loadYaml(), header) : { fields: simple };
  if (typed) addTypedValues(await loadYaml(), header, result.fields ?? []);
  for (const field of result.fields ?? []) field.line += firstLine - 1;
  if (result.fault !== undefined) result.fault.line += firstLine - 1;
  return result;
}

function readWith(library: Yaml, header: string): FrontMatter {
  const strict = readStrictYaml(library, header);
  if (!('fault' in strict)) return strict;
  const fields = recoverFields(header, (source) => readStrictYaml(library, source).fields);
  return fields.length === 0 ? { fault: strict.fault } : { fields, fault: strict.fault };
}

/** @internal exported for the test that compares it with the fast reader. */
export function readStrictYaml(library: Yaml, header: string): FrontMatter {
  const refused = tooMuchForYaml(header);
  if (refused !== undefined) return { fault: refused };
  try {
    return strictFields(library, header);
  } catch (error) {
    return { fault: { line: 1, reason: messageOf(error) } };
  }
}

function strictFields(library: Yaml, header: string): FrontMatter {
  const document = library.parseDocument(header, {
    schema: 'failsafe',
    // 'silent' would also keep silent about keys that it drops after a mark that ends the document
    logLevel: 'error',
    prettyErrors: false,
    uniqueKeys: true,
  });
  const error = document.errors[0];
  if (error !== undefined) return { fault: { line: lineOf(header, error.pos[0]), reason: error.message } };
  const root = document.contents;
  if (root === null) return { fields: [] };
  if (!library.isMap(root)) return {};
  const values = document.toJS({ maxAliasCount: MOST_ALIASES, mapAsMap: true }) as Map<unknown, unknown>;
  const fields: Field[] = [];
  for (const [index, [key, value]] of [...values].entries()) {
    const pair = root.items[index];
    const keyRange = library.isNode(pair?.key) ? pair.key.range : undefined;
    const node = library.isNode(pair?.value) ? pair.value : undefined;
    const field: Field = {
      key: typeof key === 'string' ? key : JSON.stringify(key),
      value: toValue(value),
      raw: node?.range ? header.slice(node.range[0], node.range[1]).trim() : '',
      line: lineOf(header, keyRange?.[0] ?? 0),
    };
    if (library.isScalar(node) && node.type === 'PLAIN' && node.range && isCut(header, node.range[1])) field.cut = true;
    fields.push(field);
  }
  return { fields };
}

/** Nested flow collections and compact lists crash or stall the library long before they mean anything. */
function tooMuchForYaml(header: string): Fault | undefined {
  if (header.length > LONGEST_STRICT) return { line: 1, reason: `the header has ${header.length} characters` };
  let depth = 0;
  for (let at = 0; at < header.length; at++) {
    const sign = header[at];
    if (sign === '[' || sign === '{') depth++;
    else if (sign === ']' || sign === '}') depth = Math.max(0, depth - 1);
    if (depth > DEEPEST_NESTING) return { line: lineOf(header, at), reason: 'too many nested brackets' };
  }
  const compact = /(?:[-?:][ \t]+){40}/.exec(header);
  if (compact !== null) return { line: lineOf(header, compact.index), reason: 'too many nested lists' };
  return undefined;
}

/** A schema means its numbers and booleans, so that one field is read once more with YAML's own types. */
function addTypedValues(library: Yaml, header: string, fields: Field[]): void {
  for (const field of fields) {
    if (keyOf(field.key) !== 'output-schema' || typeof field.value === 'string') continue;
    const lines = header.split('\n').slice(field.line - 1);
    const next = fields.find((other) => other.line > field.line);
    const own = next === undefined ? lines : lines.slice(0, next.line - field.line);
    try {
      const value: unknown = library.parse(own.join('\n'), { maxAliasCount: MOST_ALIASES, logLevel: 'error' });
      if (typeof value === 'object' && value !== null) field.typed = Object.values(value)[0];
    } catch {
      field.unreadable = true;
    }
  }
}

function isCut(header: string, end: number): boolean {
  return /^[ \t]*#/.test(header.slice(end, end + 200).split('\n')[0]!);
}

function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

function toValue(value: unknown): Value {
  if (typeof value === 'string') return value.toWellFormed();
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(toValue);
  if (value instanceof Map) {
    // an own property, even for `__proto__`
    return Object.fromEntries([...value].map(([key, each]) => [String(key).toWellFormed(), toValue(each)]));
  }
  return String(value);
}
