import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { repairArguments } from '../../src/models/repair-json.ts';
import { processorTime } from '../helpers/processor-time.ts';

describe('arguments that are no JSON', () => {
  it.each([
    ['{"a":1,}', { a: 1 }],
    ['{"a":[1,2,],}', { a: [1, 2] }],
    ['{"a":{"b":"c"', { a: { b: 'c' } }],
    ['{"a":[{"b":true', { a: [{ b: true }] }],
    ['{"a":1}}', { a: 1 }],
    ['{"a":"x"}]}\n', { a: 'x' }],
    ['{"a":"one\ntwo\tthree"}', { a: 'one\ntwo\tthree' }],
    ['```json\n{"a":1}\n```', { a: 1 }],
    ['```\n{"a":1,}\n```', { a: 1 }],
    ['{"a":"},]{","b":"\\"",}', { a: '},]{', b: '"' }],
  ])('are mended: %j', (text, expected) => {
    expect(JSON.parse(repairArguments(text))).toEqual(expected);
  });

  it.each([
    '{"a":"cut in a te',
    '{"a":1,',
    '{"a":',
    '{"a":12',
    "{'a': 1}",
    '{a: 1}',
    '{"a":1}{"b":2}',
    '{"a":1} and more',
    '{"a":[1}',
    '}',
    'rm -rf /',
    '{"a": True}',
    '{"a":1,,}',
  ])('stay as they are where there is more than one reading: %j', (text) => {
    expect(repairArguments(text)).toBe(text);
  });

  it('are never changed when they are JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(repairArguments(text)).toBe(text);
      }),
    );
  });

  it('give back the value that lost its last brackets, or nothing new', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(4), (value, lost) => {
        const whole = JSON.stringify(value);
        const cut = whole.slice(0, whole.length - lost);
        if (!/^[}\]]*$/.test(whole.slice(whole.length - lost))) return;
        const mended = repairArguments(cut);
        if (mended !== cut) expect(JSON.stringify(JSON.parse(mended))).toBe(whole);
      }),
    );
  });

  it('take no longer for being long', () => {
    const text = `{"a":[${'[1],'.repeat(200_000)}`;
    const begun = processorTime();
    repairArguments(text);
    expect(processorTime() - begun).toBeLessThan(2_000);
  });
});
