import { expect, it } from 'vitest';
import { parametersOf } from '../../src/tools/mcp/parameters.ts';

const text = { type: 'string' };

it('has no alternative, reference or condition at its top, which providers refuse with the whole request', () => {
  const kinds = ['a', 'b'].map((kind) => ({
    type: 'object',
    properties: { kind: { const: kind }, [kind]: text },
    required: ['kind', kind],
  }));
  for (const word of ['anyOf', 'oneOf']) {
    expect(parametersOf({ [word]: kinds, not: {}, enum: [1], if: {}, description: 'Odd.' })).toEqual({
      type: 'object',
      properties: { kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, a: text, b: text },
      required: ['kind'],
      description: 'Odd.',
    });
  }
  expect(parametersOf({ allOf: kinds, properties: { c: text }, required: ['c'] })).toMatchObject({
    properties: { c: text, kind: { const: 'a' }, a: text, b: text },
    required: ['c', 'kind', 'a', 'b'],
  });
  const $defs = { 'a/b': kinds[0] };
  expect(parametersOf({ $ref: '#/$defs/a~1b', $defs })).toEqual({
    type: 'object',
    properties: { kind: { const: 'a' }, a: text },
    required: ['kind', 'a'],
    $defs,
  });
});

it('ends for one that leads back to itself, and passes over what is no schema', () => {
  const definitions = { A: { allOf: [{ $ref: '#/definitions/A' }, { properties: { a: text } }] } };
  expect(parametersOf({ $ref: '#/definitions/A', definitions })).toMatchObject({ properties: { a: text } });
  const odd = { a: 'string', b: true, c: null, d: false, e: text };
  expect(
    parametersOf({ properties: odd, required: ['a', 'e', 7], anyOf: [null, true, 'x'], $ref: 'https://a' }),
  ).toEqual({
    type: 'object',
    properties: { b: {}, e: text },
    required: ['e'],
  });
});
