import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { ago, callText, fullCount, shortCount, shortTime } from '../../src/cli/format.ts';
import {
  clipWidth,
  hasColour,
  padWidth,
  printable,
  printableLine,
  table,
  widthOf,
  wrap,
} from '../../src/cli/terminal.ts';

describe('text on a terminal', () => {
  test('wide signs take two columns, marks none', () => {
    expect(widthOf('abc')).toBe(3);
    expect(widthOf('写代码')).toBe(6);
    expect(widthOf('e\u0301')).toBe(1);
    expect(widthOf('🙂')).toBe(2);
  });

  test('what is clipped or wrapped never exceeds its columns', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
        expect(widthOf(clipWidth(text, columns))).toBeLessThanOrEqual(columns);
        for (const line of wrap(text, columns))
          if (line.includes(' ')) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      }),
    );
    expect(clipWidth('写代码', 4)).toBe('写…');
    expect(padWidth('写', 4)).toBe('写  ');
  });

  test('wrapping loses no word', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z]{1,12}$/)), fc.integer({ min: 1, max: 30 }), (words, columns) => {
        expect(
          wrap(words.join(' '), columns)
            .join(' ')
            .split(' ')
            .filter((word) => word !== ''),
        ).toEqual(words);
      }),
    );
  });

  test('nothing in it can steer the terminal', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(printableLine(text)).not.toMatch(/[\n\t\u2028\u2029]/);
      }),
    );
  });

  test('a table lines up and fits', () => {
    const lines = table(
      ['A', 'B'],
      [
        ['写', 'x'],
        ['abc', 'a long cell at the end'],
      ],
      12,
    );
    expect(lines).toEqual(['A    B', '写   x', 'abc  a long…']);
  });
});

describe('colours', () => {
  const saved = { ...process.env };
  afterEach(() => {
    process.env = { ...saved };
  });
  const stream = (isTTY: boolean) => ({ isTTY }) as NodeJS.WriteStream;

  test.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [false, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ])('terminal %s, %j: %s', (isTTY, env, expected) => {
    for (const name of ['NO_COLOR', 'FORCE_COLOR', 'TERM']) delete process.env[name];
    Object.assign(process.env, env);
    expect(hasColour(stream(isTTY))).toBe(expected);
  });
});

test('figures are short and the same everywhere', () => {
  expect([0, 999, 1000, 1234, 12_345, 999_499, 1_500_000].map(shortCount)).toEqual([
    '0',
    '999',
    '1k',
    '1.2k',
    '12k',
    '999k',
    '1.5M',
  ]);
  expect([0, 999, 1000, 1_234_567].map(fullCount)).toEqual(['0', '999', '1,000', '1,234,567']);
  expect([0, 900, 12_300, 65_000, 7_260_000].map(shortTime)).toEqual(['0.0s', '0.9s', '12s', '1m05s', '2h01m']);
  const now = Date.parse('2026-01-31T12:00:00Z');
  const at = [
    '2026-01-31T11:59:50Z',
    '2026-01-31T11:30:00Z',
    '2026-01-31T01:00:00Z',
    '2026-01-28T12:00:00Z',
    '2025-06-01T00:00:00Z',
  ];
  expect(at.map((iso) => ago(iso, now))).toEqual(['now', '30m ago', '11h ago', '3d ago', '2025-06-01']);
});

test('a call is told by what says most about it', () => {
  expect(callText('grep', '{"path":"src","pattern":"retry"}')).toBe('grep src');
  expect(callText('shell', '{"command":"ls\\n-l"}')).toBe('shell ls -l');
  expect(callText('shell', 'no json')).toBe('shell');
  expect(callText('run_skill', '{"name":"evil\\u001b[31m"}')).not.toContain('\u001b');
});
