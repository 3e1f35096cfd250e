import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findNode, joinKey, type KeySpec, splitKey } from '../../src/config/key-spec.ts';
import { KEYS, keyRoot } from '../../src/config/keys.ts';
import { scanToml } from '../../src/config/toml-scan.ts';
import { expectation, parseText, parseTyped } from '../../src/config/values.ts';
import { TestFolders } from './folders.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const specs = Object.entries(KEYS) as [string, KeySpec][];

let folders: TestFolders;
beforeEach(() => {
  folders = new TestFolders();
});
afterEach(() => folders.remove());

describe('registry', () => {
  test('every default is a valid value of its key, and every key says what it is in one line', () => {
    for (const [key, spec] of specs) {
      expect(spec.doc, key).toMatch(/^[^\n]{10,130}\.$/);
      expect(expectation(spec), key).not.toBe('');
      if (spec.default === undefined) continue;
      const raw = spec.type === 'duration' ? `${spec.default}ms` : spec.default;
      expect(parseTyped(spec, raw), key).toEqual({ ok: true, value: spec.default });
    }
  });

  test('no two keys share a name', () => {
    const names = specs.flatMap(([, spec]) => [spec.alias, spec.addedBy].filter((name) => name !== undefined));
    expect(new Set(names).size).toBe(names.length);
  });

  test('keys with dots, quotes and any text in a segment survive being written and read', () => {
    for (const segments of [
      ['a'],
      ['a', 'b-c_1'],
      ['prices', 'gpt-4.1'],
      ['x', 'a"b\\c', 'é'],
      ['providers', 'a b', ''],
    ]) {
      expect(splitKey(joinKey(segments))).toEqual(segments);
    }
    for (const bad of ['', '.', 'a.', '.a', 'a..b', 'a b', '"a', 'a."b']) expect(splitKey(bad), bad).toBeUndefined();
  });

  test('a name of the user cannot reach into the prototype', () => {
    expect(findNode(keyRoot, ['agent', 'subagent_models', '__proto__'])).toBeUndefined();
  });
});

describe('reasonix.example.toml', () => {
  const example = readFileSync(join(ROOT, 'reasonix.example.toml'), 'utf8');
  const uncommented = example.replace(/^#(?=\S)/gm, '');

  test('holds nothing but comments until somebody uncomments a line', async () => {
    folders.write('project/reasonix.toml', example);
    const { sources } = await folders.load();
    expect([...sources.values()].every(({ tier }) => tier === 'default')).toBe(true);
  });

  test('names every key, and only keys, each with a comment above it', () => {
    const lines = uncommented.split('\n');
    const named = new Set<string>();
    for (const statement of scanToml(uncommented)) {
      if (statement.path[0] === 'profiles' || statement.kind === 'header') continue;
      const path = statement.path.map((segment, index) =>
        statement.path[0] === 'providers' && index === 1 ? '*' : segment,
      );
      if (path.at(-1) === 'name' && path.length === 3) continue;
      const real = path.map((segment) => (segment === '*' ? 'x' : segment));
      named.add(findNode(keyRoot, real)!.pattern.join('.'));
      const above = lines[statement.line - 2]!;
      if (!above.startsWith('[')) expect(above, path.join('.')).toMatch(/^# /);
    }
    const expected = specs.map(([key]) => (key === 'agent.subagent_models.*' ? 'agent.subagent_models' : key));
    expect([...named].sort()).toEqual(expected.sort());
  });

  test('loads uncommented, and every value in it is the default', async () => {
    const { config: defaults } = await folders.load();
    folders.write('project/reasonix.toml', uncommented);
    const { config, sources } = await folders.load();
    expect({ ...config, providers: [], mcp: [], hooks: [] }).toEqual(defaults);
    for (const section of ['providers', 'mcp', 'hooks'] as const) expect(config[section]).toHaveLength(1);
    for (const [key, spec] of specs) {
      if (!key.includes('*') && spec.default !== undefined) expect(sources.get(key)?.tier, key).toBe('project');
    }
  });

  test('its profile loads', async () => {
    folders.write('project/reasonix.toml', uncommented);
    const { config } = await folders.load({ profile: 'big-library' });
    expect(config.skills).toMatchObject({ lazy: true, list: { style: 'names' } });
  });
});

test('docs/configuration.md lists every second name of a key', () => {
  const doc = readFileSync(join(ROOT, 'docs', 'configuration.md'), 'utf8');
  const rows = specs.flatMap(([key, spec]) => [
    ...(spec.alias ? [`| \`${spec.alias}\` | \`${key}\` |`] : []),
    ...(spec.addedBy ? [`| \`${spec.addedBy}\` | added to \`${key}\` |`] : []),
  ]);
  const table = /<!-- names -->\n\| name \| key \|\n\|---\|---\|\n([\s\S]*?)\n<!-- \/names -->/.exec(doc);
  expect(table?.[1]?.split('\n')).toEqual(rows);
});

describe('values', () => {
  const spec = (type: KeySpec['type'], more: Partial<KeySpec> = {}): KeySpec => ({ type, doc: '', ...more });
  const value = (of: KeySpec, text: string) => {
    const parsed = parseText(of, text);
    return parsed.ok ? parsed.value : undefined;
  };

  test.each([
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['1.5m', 90_000],
    ['30', 30_000],
    ['2 m', 120_000],
    ['', undefined],
    ['-5s', undefined],
    ['5 parsecs', undefined],
  ])('duration %s', (text, expected) => expect(value(spec('duration'), text)).toBe(expected));

  test.each([
    ['16384', 16_384],
    ['16 KiB', 16_384],
    ['16k', 16_384],
    ['1.5MB', 1_572_864],
    ['12 b', 12],
    ['1T', undefined],
    ['-1', undefined],
  ])('size %s', (text, expected) => expect(value(spec('bytes'), text)).toBe(expected));

  test.each(['true', '1', 'on', 'yes', 'TRUE', ' Yes '])('boolean %s', (text) =>
    expect(value(spec('boolean'), text)).toBe(true),
  );
  test.each(['false', '0', 'off', 'no', 'OFF'])('boolean %s', (text) =>
    expect(value(spec('boolean'), text)).toBe(false),
  );
  test.each(['2', 'y', 'enabled', '-1'])('no boolean: %s', (text) =>
    expect(value(spec('boolean'), text)).toBeUndefined(),
  );

  test.each([
    ['a, b,,c ', ['a', 'b', 'c']],
    ['shell(git log, x), read_file', ['shell(git log, x)', 'read_file']],
    ['{a,b}-*, [ab]*', ['{a,b}-*', '[ab]*']],
    ['["a,b", "c"]', ['a,b', 'c']],
    ['[]', []],
  ])('list %s', (text, expected) => expect(value(spec('list'), text)).toEqual(expected));

  test.each([
    ['3', 3],
    ['0', undefined],
    ['7', undefined],
    ['1.5', undefined],
    ['0x3', undefined],
    ['three', undefined],
  ])('whole number from 1 to 6: %s', (text, expected) =>
    expect(value(spec('integer', { min: 1, max: 6 }), text)).toBe(expected),
  );

  test('TOML values must have the type of their key', () => {
    expect(parseTyped(spec('integer'), '3').ok).toBe(false);
    expect(parseTyped(spec('list'), 'a').ok).toBe(false);
    expect(parseTyped(spec('list'), ['a', 1]).ok).toBe(false);
    expect(parseTyped(spec('string'), 3).ok).toBe(false);
    expect(parseTyped(spec('boolean'), 'on')).toEqual({ ok: true, value: true });
    expect(parseTyped(spec('boolean'), 2).ok).toBe(false);
    expect(parseTyped(spec('number'), Number.NaN).ok).toBe(false);
    expect(parseTyped(spec('string'), new Date()).ok).toBe(false);
  });
});
