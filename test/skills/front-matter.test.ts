import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Field, loadYaml, readFrontMatter, readStrictYaml } from '../../src/skills/front-matter.ts';
import { readSimpleYaml } from '../../src/skills/simple-yaml.ts';
import { processorTime } from '../helpers/processor-time.ts';

const read = async (header: string): Promise<Record<string, unknown>> => {
  const { fields } = await readFrontMatter(header, 1);
  return Object.fromEntries((fields ?? []).map(({ key, value }) => [key, value]));
};

describe('readFrontMatter, strict', () => {
  it('A02 reads block scalars and never lists their sign', async () => {
    const folded = 'name: a\ndescription: >-\n  one\n  two\n\n  three\nversion: "1"';
    expect(await read(folded)).toEqual({ name: 'a', description: 'one two\nthree', version: '1' });
    const variants: [string, string][] = [
      ['|', 'one\ntwo\n\nthree\n'],
      ['|-', 'one\ntwo\n\nthree'],
      ['>2', 'one two\nthree\n'],
      ['> # note', 'one two\nthree\n'],
    ];
    for (const [sign, value] of variants) {
      expect(await read(folded.replace('>-', sign)), sign).toEqual({ name: 'a', description: value, version: '1' });
    }
  });

  it('reads every scalar as text', async () => {
    const header = 'name: 933133\nversion: 1.0\nyes: true\nnothing: null\nempty:\nhex: 0x1F\nlist: [1, true, x]';
    expect(await read(header)).toEqual({
      name: '933133',
      version: '1.0',
      yes: 'true',
      nothing: 'null',
      empty: '',
      hex: '0x1F',
      list: ['1', 'true', 'x'],
    });
  });

  it('expands aliases, but no bomb and no loop', async () => {
    expect(await read('a: &x [p, q]\nb: *x')).toEqual({ a: ['p', 'q'], b: ['p', 'q'] });
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let at = 1; at < 12; at++)
      lines.push(
        `a${at}: &a${at} [${Array(9)
          .fill(`*a${at - 1}`)
          .join(', ')}]`,
      );
    const bomb = await readFrontMatter([...lines, 'name: ok'].join('\n'), 1);
    expect(bomb.fault).toBeDefined();
    expect(bomb.fields?.find((field) => field.key === 'name')?.value).toBe('ok');
    expect((await read('name: ok\na: &x [*x]')).name).toBe('ok');
  });

  it.each<[string, string, RegExp?]>([
    ['brackets', `name: ok\na: ${'['.repeat(20_000)}`, /nested brackets/],
    ['braces', `name: ok\na: ${'{a: '.repeat(20_000)}`, /nested brackets/],
    ['lists in lists', `name: ok\na:\n  ${'- '.repeat(20_000)}x`, /nested lists/],
    ['questions', `name: ok\na:\n  ${'? '.repeat(20_000)}x`, /nested lists/],
    ['a very long line', `name: ok\na: ${'x '.repeat(500_000)}`],
    [
      'deep indentation',
      `name: ok\na:\n${Array.from({ length: 400 }, (_, at) => `${' '.repeat(at + 1)}k:`).join('\n')}`,
    ],
  ])('survives a bomb of %s', async (_, header, refusal) => {
    const started = processorTime();
    const { fields, fault } = await readFrontMatter(header, 1);
    expect(fields?.[0]).toMatchObject({ key: 'name', value: 'ok' });
    // refused before the library sees it: it would end the process rather than throw
    if (refusal !== undefined) expect(fault?.reason).toMatch(refusal);
    expect(processorTime() - started).toBeLessThan(2_000);
  });

  it('runs no code and builds no foreign objects', async () => {
    const header =
      'name: !!js/function "function () { globalThis.HIT = 1 }"\n"__proto__": {polluted: yes}\nb: !!binary aGk=';
    const fields = await read(header);
    expect(fields.name).toBe('function () { globalThis.HIT = 1 }');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(globalThis).not.toHaveProperty('HIT');
  });

  it('tells a mapping from prose', async () => {
    expect((await readFrontMatter('\nJust prose\n', 1)).fields).toBeUndefined();
    expect((await readFrontMatter('- a\n- b', 1)).fields).toBeUndefined();
    expect((await readFrontMatter('# nothing\n', 1)).fields).toEqual([]);
  });

  it('marks a value that YAML cuts at a comment', async () => {
    const { fields } = await readFrontMatter('name: a\ndescription: Covers C #1 and more\nmodel: b', 1);
    expect(fields?.map(({ key, cut }) => [key, cut ?? false])).toEqual([
      ['name', false],
      ['description', true],
      ['model', false],
    ]);
  });
});

describe('readFrontMatter, field by field', () => {
  it('A01 keeps a value with a colon whole, and the other fields', async () => {
    const result = await readFrontMatter('name: pdf-tidy\ndescription: Tidy PDFs. Use when: pages are rotated', 2);
    expect(result.fault).toMatchObject({ line: 3 });
    expect(result.fields).toMatchObject([
      { key: 'name', value: 'pdf-tidy', line: 2 },
      { key: 'description', value: 'Tidy PDFs. Use when: pages are rotated', line: 3 },
    ]);
  });

  it.each<[string, string, Record<string, unknown>]>([
    [
      'words after a block sign',
      'description: | Use when needed.\nname: a',
      { description: 'Use when needed.', name: 'a' },
    ],
    ['quotes inside quotes', 'description: "say "hi" to all"\nname: a', { description: 'say "hi" to all', name: 'a' }],
    ['a stray line', 'name: a\ndescription: "one"\n  two', { name: 'a', description: 'one two' }],
    ['an open bracket', 'name: a\ndescription: [open', { name: 'a', description: '[open' }],
    ['a reserved sign', 'name: a\ndescription: @Observable `x`', { name: 'a', description: '@Observable `x`' }],
    ['two bracket groups', 'name: a\nargument-hint: [x] [y]', { name: 'a', 'argument-hint': '[x] [y]' }],
    [
      'text at the margin',
      'name: a\ndescription: one\n\ntwo\nmodel: b',
      { name: 'a', description: 'one\ntwo', model: 'b' },
    ],
    ['tabs', 'name: a\n\tx\ndescription: b', { name: 'a x', description: 'b' }],
    ['no blank after the colon', 'name: a: b\nallowed-tools:Read', { name: 'a: b', 'allowed-tools': 'Read' }],
    ['a full-width colon', 'name: a: b\nallowed-tools：Read', { name: 'a: b', 'allowed-tools': 'Read' }],
    [
      'a stray blank before a key',
      'name: a\ndescription: b\n allowed-tools: Read',
      { name: 'a', description: 'b', 'allowed-tools': 'Read' },
    ],
    ['a document mark', 'name: a\n...\nread-only: true', { name: 'a', 'read-only': 'true' }],
    ['a bad neighbour', 'name: a\nmetadata: {x: [}\nread-only: true', { name: 'a', metadata: {}, 'read-only': 'true' }],
  ])('recovers from %s', async (_, header, fields) => {
    const found = await read(header);
    expect(found).toMatchObject(fields);
  });

  it('takes no key from an example dialogue', async () => {
    const header = [
      'name: a',
      'description: Use this agent. Examples:',
      '',
      '<example>',
      'Context: the user: asks',
      'user: "do it"',
      'assistant: "done"',
      'model: not-this-line-but-known',
      '</example>',
      '',
      'tools: ["Write", "Read"]',
    ].join('\n');
    const found = await read(header);
    expect(Object.keys(found)).toEqual(['name', 'description', 'model', 'tools']);
    expect(found.tools).toEqual(['Write', 'Read']);
  });

  it('drops the marks of a merge conflict', async () => {
    const header = 'name: a\n<<<<<<< ours\nread-only: true\n=======\nread-only: false\n>>>>>>> theirs';
    const { fields } = await readFrontMatter(header, 1);
    expect(fields?.map(({ key, value }) => [key, value])).toEqual([
      ['name', 'a'],
      ['read-only', 'true'],
      ['read-only', 'false'],
    ]);
  });

  it('keeps what metadata says about us when its braces are broken', async () => {
    const found = await read(
      'name: a\nmetadata: {"x": {"y": 1}, "reasonix.max-steps": 3, reasonix.tools: [Read, Grep]}}',
    );
    expect(found.metadata).toEqual({ 'reasonix.max-steps': '3', 'reasonix.tools': ['Read', 'Grep'] });
  });
});

describe('the fast reader', () => {
  const pieces = fc.constantFrom(
    ...[
      'a',
      'name',
      'b-c',
      ': ',
      ':',
      ' #',
      '#',
      '\n',
      '\n',
      '\n',
      '\n  ',
      '\n- ',
      '\n  - ',
      ' ',
      '  ',
      '"',
      "'",
      '[',
      ']',
      ',',
    ],
    ...[
      '|',
      '>',
      '|-',
      '>-',
      '-',
      '- ',
      '{',
      '}',
      '中',
      '\u3000',
      '\u00A0',
      '1.0',
      '~',
      '&x',
      '*x',
      '!t',
      '%',
      '@',
      '`',
      '\t',
      '\\',
      '?',
      'é',
      'key: v\n',
    ],
  );
  const headers = fc.array(pieces, { maxLength: 24 }).map((parts) => `k: ${parts.join('')}`);
  const lines = fc
    .array(
      fc.tuple(
        fc.constantFrom('name', 'description', 'x', 'tools', 'metadata'),
        fc.constantFrom(
          'plain text',
          '"q"',
          "'q'",
          '[a, b]',
          '[]',
          '',
          'a, b: c',
          'x:',
          '|\n  one\n  two',
          '>\n  one\n  two',
          '>-\n  a\n\n  b',
          '\n  - a\n  - b c',
          '\n- a',
          '\n  k: v\n  l: "w"',
          'a #b',
          'a#b',
          '- a',
          '|\n  a\n   b',
        ),
      ),
      { maxLength: 6 },
    )
    .map((entries) =>
      entries.map(([key, value], index) => `${key}${index % 5 === 4 ? '' : index}: ${value}`).join('\n'),
    );

  it.each([
    ['signs in any order', headers],
    ['lines of usual shapes', lines],
  ])('says what the YAML library says, or nothing: %s', async (_, arbitrary) => {
    const library = await loadYaml();
    const plain = (fields: Field[] | undefined): unknown =>
      fields?.map(({ key, value, line }) => ({ key, value, line }));
    let answered = 0;
    fc.assert(
      fc.property(arbitrary, (header) => {
        const simple = readSimpleYaml(header);
        if (simple === undefined) return;
        answered += simple.length > 0 ? 1 : 0;
        expect(plain(simple)).toEqual(plain(readStrictYaml(library, header).fields));
      }),
      { numRuns: 10_000 },
    );
    expect(answered).toBeGreaterThan(100);
  });

  it('takes only blanks of YAML for none: a wide space is an item of a list', () => {
    expect(readSimpleYaml('allowed-tools: [  ]')).toMatchObject([{ value: [] }]);
    expect(readSimpleYaml('allowed-tools: [\u3000]')).toBeUndefined();
  });
});
