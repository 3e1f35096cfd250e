import { shortHash } from '../../core/short-hash.ts';
import { ARGUMENT_NAME } from '../define-tool.ts';

/** Of schemas as models see them: their own names for the arguments that had to be called otherwise. */
const originals = new WeakMap<object, ReadonlyMap<string, string>>();

/** A schema of an object in which every argument has a name that every provider takes, a similar one. */
export function withSafeNames(schema: Record<string, unknown>): Record<string, unknown> {
  const { properties, required = [] } = schema as { properties: Record<string, unknown>; required?: string[] };
  const names = Object.keys(properties);
  if (names.every((name) => ARGUMENT_NAME.test(name))) return schema;
  const taken = new Set(names);
  const safe = new Map(names.map((name) => [name, safeName(name, taken)]));
  const known = {
    ...schema,
    properties: Object.fromEntries(names.map((name) => [safe.get(name), properties[name]])),
    ...(required.length > 0 ? { required: required.map((name) => safe.get(name)) } : {}),
  };
  originals.set(known, new Map([...safe].flatMap(([name, other]) => (name === other ? [] : [[other, name]]))));
  return known;
}

/** Arguments by the names that the server has for them. */
export function withOwnNames(schema: object, input: Record<string, unknown>): Record<string, unknown> {
  const own = originals.get(schema);
  if (!own) return input;
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [own.get(name) ?? name, value]));
}

function safeName(name: string, taken: Set<string>): string {
  if (ARGUMENT_NAME.test(name)) return name;
  const plain = name.replaceAll(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 64) || '_';
  const hash = shortHash(name, 8);
  const safe = taken.has(plain) ? `${plain.slice(0, 55)}_${hash}` : plain;
  taken.add(safe);
  return safe;
}
