import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactJson, jsonInText } from '../../src/skills/json-in-text.ts';
import { answerCheck, SCHEMA_LIMIT, STRUCTURED_LIMIT } from '../../src/skills/output-schema.ts';
import { processorTime } from '../helpers/processor-time.ts';

const SCHEMA = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };
const fitsOf = async (schema: Record<string, unknown>, text: string) => (await answerCheck(schema))(text).fits;
const faultsOf = async (schema: Record<string, unknown>, text: string) => {
  const checked = (await answerCheck(schema))(text);
  return checked.fits ? [] : checked.faults;
};

describe('JSON in a text', () => {
  it.each([
    ['alone', ' {"n": 1}\n', ['{"n": 1}']],
    ['a word', '"yes"', ['"yes"']],
    ['in a fence', 'Here:\n```json\n{"n":\n 1}\n```\nDone.', ['{"n":\n 1}']],
    ['in a fence of tildes that holds a fence', '~~~~\n{"n":"~~~"}\n~~~~', ['{"n":"~~~"}']],
    ['in the second fence', '```sh\nls\n```\n```\n[1]\n```', ['[1]']],
    ['between words', 'It is {"n": "a } in \\" text"} I think.', ['{"n": "a } in \\" text"}']],
    ['twice', '{"n":1} or {"n":2}', ['{"n":1}', '{"n":2}']],
    ['after braces that are none', 'use {x} and [y, then {"n": 1}', ['{"n": 1}']],
    ['nowhere', 'n is 1 {', []],
  ])('%s', (_, text, found) => expect(jsonInText(text)).toEqual(found));

  it('is found whatever stands around it', () => {
    fc.assert(
      fc.property(fc.json(), fc.stringMatching(/^[a-z ,.]*$/), (json, words) => {
        const fenced = `${words}\n\`\`\`json\n${json}\n\`\`\`\n${words}`;
        expect(jsonInText(fenced).map((each) => JSON.parse(each))).toEqual([JSON.parse(json)]);
      }),
    );
  });

  it('keeps its value when it is made compact, and numbers as they are written', () => {
    expect(compactJson('{ "a b" : [ 1.50 , 12345678901234567890 ], "c\\" ": "x  y" }')).toBe(
      '{"a b":[1.50,12345678901234567890],"c\\" ":"x  y"}',
    );
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        expect(compactJson(JSON.stringify(value, null, 3))).toBe(json);
      }),
    );
  });
});

describe('an answer held against a schema', () => {
  it('names what is wrong, each once', async () => {
    expect(await faultsOf(SCHEMA, '{"m": 1}')).toEqual([
      "/ must have required property 'n'",
      '/ must NOT have additional properties: "m"',
    ]);
    expect(await faultsOf({ enum: ['a', 'b'] }, '"c"')).toEqual([
      '/ must be equal to one of the allowed values: ["a","b"]',
    ]);
    expect(await faultsOf(SCHEMA, 'none')).toEqual(['it holds no JSON value']);
    expect(await faultsOf(SCHEMA, '{"n":1} {"n":2}')).toEqual(['it holds 2 JSON values; one is wanted']);
    const many = await faultsOf(
      { items: { type: 'string' } },
      JSON.stringify(
        Array(500)
          .fill(1)
          .map((_, i) => i),
      ),
    );
    expect(many).toHaveLength(11);
  });

  it('is the one of several values that fits', async () => {
    expect((await answerCheck(SCHEMA))('As [1] says: {"n": 2}')).toEqual({ fits: true, json: '{"n":2}' });
  });

  it('knows the words of every draft, and looks at no format', async () => {
    const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] };
    const draft2020 = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'https://example.com/a',
      prefixItems: [{ type: 'string' }],
      items: { $ref: '#/$defs/n' },
      $defs: { n: { type: 'number' } },
    };
    expect(await fitsOf(draft7, '[1]')).toBe(false);
    expect(await fitsOf({ items: [{ type: 'string' }] }, '[1]')).toBe(false);
    expect(await fitsOf(draft2020, '["a",1]')).toBe(true);
    expect(await fitsOf(draft2020, '["a","b"]')).toBe(false);
    expect(await fitsOf({ dependentRequired: { a: ['b'] } }, '{"a":1}')).toBe(false);
    expect(await fitsOf({ definitions: { a: { const: 1 } }, $ref: '#/definitions/a' }, '2')).toBe(false);
    expect(await fitsOf({ type: 'string', format: 'email', 'x-own': 1 }, '"none"')).toBe(true);
    expect(await fitsOf({ type: 'object', required: ['toString'] }, '{}')).toBe(false);
    expect(await fitsOf({ uniqueItems: true }, '[{"a":1,"b":2},{"b":2,"a":1}]')).toBe(false);
    expect(await fitsOf({ properties: { a: { pattern: '^x+$' }, b: { pattern: '^y+$' } } }, '{"a":"x","b":"y"}')).toBe(
      true,
    );
  });

  it.each([
    ['unknown type', { type: 'strin' }, 'schema is invalid'],
    ['reference elsewhere', { $ref: 'https://example.com/x.json' }, "can't resolve reference"],
    ['no regular expression', { pattern: '(' }, 'error parsing regexp'],
    ['asynchronous', { $async: true, type: 'string' }, '$async is not supported'],
    ['too large', { description: 'x'.repeat(SCHEMA_LIMIT) }, 'bytes of JSON'],
  ])('cannot be checked: %s', async (_, schema, why) => {
    await expect(answerCheck(schema)).rejects.toMatchObject({
      code: 'skill_invalid',
      message: expect.stringContaining(why),
    });
  });

  it('costs bounded time, whatever schema and answer are', async () => {
    const hostile: [Record<string, unknown>, string][] = [
      [{ properties: { s: { pattern: '^(a+)+$' } } }, JSON.stringify({ s: `${'a'.repeat(10_000)}!` })],
      [{ uniqueItems: true }, JSON.stringify(Array.from({ length: 40_000 }, (_, index) => index))],
      [{ $ref: '#' }, '{}'],
      [{ properties: { a: { $ref: '#' } } }, `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`],
      [SCHEMA, '{'.repeat(STRUCTURED_LIMIT)],
      [SCHEMA, '["'.repeat(STRUCTURED_LIMIT / 2)],
      [SCHEMA, '```\n'.repeat(STRUCTURED_LIMIT / 4)],
      [SCHEMA, ' '.repeat(STRUCTURED_LIMIT + 1)],
    ];
    for (const [schema, answer] of hostile) {
      const check = await answerCheck(schema);
      const start = processorTime();
      check(answer);
      expect(processorTime() - start, answer.slice(0, 20)).toBeLessThan(3_000);
    }
  });
});
