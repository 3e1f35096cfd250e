import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withOwnNames, withSafeNames } from '../../src/tools/mcp/property-names.ts';

const text = { type: 'string' };
const object = (names: readonly string[], required: readonly string[] = names) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, text])),
  ...(required.length > 0 ? { required } : {}),
});

it('leaves a schema whose names every provider takes as it is', () => {
  const schema = object(['user', 'a.b-c_d']);
  expect(withSafeNames(schema)).toBe(schema);
  expect(withOwnNames(schema, { user: 1 })).toEqual({ user: 1 });
});

it('calls arguments otherwise that Anthropic refuses, and gives the server its own names', () => {
  const schema = withSafeNames(object(['$filter', 'user id', 'user'], ['user id']));
  expect(schema).toEqual(object(['_filter', 'user_id', 'user'], ['user_id']));
  expect(withOwnNames(schema, { _filter: 'a', user_id: 1, user: 2, other: 3 })).toEqual({
    $filter: 'a',
    'user id': 1,
    user: 2,
    other: 3,
  });
  // a model may know the server's name from its description
  expect(withOwnNames(schema, { $filter: 'a' })).toEqual({ $filter: 'a' });
});

it('keeps any names apart, and finds each again', () => {
  const name = fc.oneof(
    fc.string({ maxLength: 80 }),
    fc.constantFrom('$a', '_a', '@a', 'x'.repeat(70), 'x'.repeat(71)),
  );
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 8 }), (names) => {
      const usable = names.filter((each) => each !== '__proto__');
      const schema = withSafeNames(object(usable));
      const safe = Object.keys(schema.properties as object);
      expect(new Set(safe).size).toBe(usable.length);
      for (const each of safe) expect(each).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
      const given = Object.fromEntries(safe.map((each) => [each, each]));
      expect(Object.keys(withOwnNames(schema, given)).sort()).toEqual(Object.keys(object(usable).properties).sort());
    }),
  );
});
