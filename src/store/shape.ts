import type { z } from 'zod';
import { isObject } from '../core/is-object.ts';

type Check = (value: unknown) => boolean;
type Field = { key: string; check: Check; optional: boolean };

/**
 * A predicate that says of JSON values what `schema` does, without copying them and without warming
 * up: a log of 10,000 events is checked in a few milliseconds. What it does not know it leaves to zod.
 * `exact` refuses besides what zod would change or JSON lose: unknown keys, holes and objects of a class.
 */
export function compileCheck(schema: z.core.$ZodType, exact = false): Check {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.checks?.length || 'coerce' in def || 'check' in def) return viaZod(schema);
  switch (def.type) {
    case 'string':
      return (value) => typeof value === 'string';
    case 'number':
      return (value) => Number.isFinite(value);
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'unknown':
      return () => true;
    case 'literal':
      return oneOf(def.values);
    case 'enum':
      return oneOf(Object.values(def.entries));
    case 'optional': {
      const inner = compileCheck(def.innerType, exact);
      return (value) => value === undefined || inner(value);
    }
    case 'array': {
      const element = compileCheck(def.element, exact);
      return (value) => Array.isArray(value) && value.every(element) && !(exact && hasHoles(value));
    }
    case 'record': {
      const item = compileCheck(def.valueType, exact);
      return (value) => isObject(value) && !(exact && isOfClass(value)) && Object.values(value).every(item);
    }
    case 'object':
      return def.catchall ? viaZod(schema) : objectCheck(def.shape, exact);
    case 'union':
      return unionCheck(schema, def, exact);
    default:
      return viaZod(schema);
  }
}

function objectCheck(shape: z.core.$ZodShape, exact: boolean): Check {
  const fields = Object.entries(shape).map(
    ([key, schema]): Field => ({
      key,
      check: compileCheck(schema, exact),
      optional: schema._zod.optin === 'optional',
    }),
  );
  return (value) => {
    if (!isObject(value)) return false;
    if (exact && (isOfClass(value) || Object.keys(value).some((key) => !Object.hasOwn(shape, key)))) return false;
    for (const { key, check, optional } of fields) {
      const field = value[key];
      if (field === undefined ? !optional : !check(field)) return false;
    }
    return true;
  };
}

function unionCheck(schema: z.core.$ZodType, def: z.core.$ZodUnionDef, exact: boolean): Check {
  const { discriminator } = def as Partial<z.core.$ZodDiscriminatedUnionDef>;
  if (discriminator === undefined) return viaZod(schema);
  const checks = new Map<unknown, Check>();
  for (const option of def.options) {
    for (const value of option._zod.propValues?.[discriminator] ?? []) checks.set(value, compileCheck(option, exact));
  }
  return (value) => isObject(value) && (checks.get(value[discriminator])?.(value) ?? false);
}

function oneOf(values: readonly unknown[]): Check {
  const allowed = new Set(values);
  return (value) => allowed.has(value);
}

function viaZod(schema: z.core.$ZodType): Check {
  return (value) => (schema as z.ZodType).safeParse(value).success;
}

const hasHoles = (value: readonly unknown[]): boolean => Object.keys(value).length !== value.length;

function isOfClass(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== null;
}
