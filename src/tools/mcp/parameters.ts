import { isObject } from '../../core/is-object.ts';

type Schema = Readonly<Record<string, unknown>>;

/** What providers refuse at the top of a tool's schema, each with its whole request, and what is made anew. */
const AT_TOP = new Set(
  '$schema additionalProperties type properties required $ref allOf anyOf oneOf not enum const if then else'.split(' '),
);

/** Alternatives within alternatives that are looked into. */
const DEEPEST = 8;

/** What a schema says of an object: what each property may be, and which have to be there. */
interface Shape {
  properties: Map<string, Schema>;
  required: ReadonlySet<string>;
}

/**
 * A tool's schema as one that every provider takes: that of an object, with its properties at the top. Of
 * alternatives a model sees all properties, and as required those of each; the server checks what comes.
 */
export function parametersOf(schema: Schema): Record<string, unknown> {
  const { properties, required } = shapeOf(schema, { root: schema, seen: new Set(), depth: 0 });
  const names = [...required].filter((name) => properties.has(name));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(names.length > 0 ? { required: names } : {}),
    ...Object.fromEntries(Object.entries(schema).filter(([key]) => !AT_TOP.has(key))),
  };
}

/** Where a walk is, and what it has seen: a schema may lead back to itself, or be told a thousand times. */
interface Walk {
  root: Schema;
  seen: Set<unknown>;
  depth: number;
}

function shapeOf(schema: unknown, walk: Walk): Shape {
  if (!isObject(schema) || walk.depth > DEEPEST || walk.seen.has(schema)) {
    return { properties: new Map(), required: new Set() };
  }
  walk.seen.add(schema);
  const next = { ...walk, depth: walk.depth + 1 };
  const shapes = (value: unknown): Shape[] => (Array.isArray(value) ? value.map((each) => shapeOf(each, next)) : []);
  const all = [
    ownShape(schema),
    shapeOf(referred(schema.$ref, walk.root), next),
    ...shapes(schema.allOf),
    eitherOf(shapes(schema.anyOf)),
    eitherOf(shapes(schema.oneOf)),
  ];
  const properties = new Map<string, Schema>();
  for (const shape of all) {
    for (const [name, each] of shape.properties) properties.set(name, { ...each, ...properties.get(name) });
  }
  return { properties, required: new Set(all.flatMap(({ required }) => [...required])) };
}

function ownShape({ properties, required }: Schema): Shape {
  const usable = Object.entries(isObject(properties) ? properties : {}).flatMap(([name, each]): [string, Schema][] => {
    if (each === true) return [[name, {}]];
    return isObject(each) ? [[name, each]] : [];
  });
  const names = Array.isArray(required) ? required.filter((name): name is string => typeof name === 'string') : [];
  return { properties: new Map(usable), required: new Set(names) };
}

/** A property that differs between alternatives may be what any of them says. */
function eitherOf(shapes: readonly Shape[]): Shape {
  const found = new Map<string, Map<string, Schema>>();
  for (const { properties } of shapes) {
    for (const [name, each] of properties) {
      found.set(name, (found.get(name) ?? new Map<string, Schema>()).set(JSON.stringify(each), each));
    }
  }
  const properties = new Map<string, Schema>();
  for (const [name, ways] of found) {
    const [first = {}, ...others] = ways.values();
    properties.set(name, others.length === 0 ? first : { anyOf: [first, ...others] });
  }
  const [first, ...others] = shapes.map(({ required }) => required);
  return { properties, required: new Set([...(first ?? [])].filter((name) => others.every((each) => each.has(name)))) };
}

/** What a `$ref` within the schema stands for. */
function referred(reference: unknown, root: Schema): unknown {
  const [, place, name] = (typeof reference === 'string' && /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference)) || [];
  const known = place === undefined ? undefined : root[place];
  return isObject(known) && name !== undefined ? known[decoded(name)] : undefined;
}

const decoded = (name: string): string => name.replaceAll('~1', '/').replaceAll('~0', '~');
