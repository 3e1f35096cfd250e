import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { setKey } from '../../src/config/set.ts';
import { TestFolders } from './folders.ts';

let folders: TestFolders;
beforeEach(() => {
  folders = new TestFolders();
});
afterEach(() => folders.remove());

const set = (key: string, value: unknown, scope: 'project' | 'user' = 'project') =>
  setKey(key, value, { scope, cwd: folders.project, home: folders.home });
const text = (name = 'project/reasonix.toml') => readFileSync(join(folders.root, name), 'utf8');

describe('one line changes', () => {
  test.each([
    [
      'a value, its comment stays',
      '[skills]\nlazy = false # why\nmax_depth = 2\n',
      'skills.lazy',
      'on',
      '[skills]\nlazy = true # why\nmax_depth = 2\n',
    ],
    [
      'a new key of a table',
      '[skills]\nlazy = false\n\n# next\n[agent]\n',
      'skills.max_depth',
      '4',
      '[skills]\nlazy = false\nmax_depth = 4\n\n# next\n[agent]\n',
    ],
    [
      'a key of an empty table',
      '[skills]\n\n[agent]\nmax_depth = 1',
      'skills.lazy',
      '1',
      '[skills]\nlazy = true\n\n[agent]\nmax_depth = 1',
    ],
    [
      'a new table',
      '[agent]\nmax_depth = 1',
      'skills.list.style',
      'names',
      '[agent]\nmax_depth = 1\n\n[skills.list]\nstyle = "names"\n',
    ],
    [
      'beside dotted keys',
      '[skills]\nlist.include = ["a"]\nlazy = true\n',
      'skills.list.style',
      'names',
      '[skills]\nlist.include = ["a"]\nlist.style = "names"\nlazy = true\n',
    ],
    [
      'at the top, above the comments of the first table',
      '# file\n\n# about skills\n[skills]\nlazy = true\n',
      'default_model',
      'm',
      '# file\n\ndefault_model = "m"\n\n# about skills\n[skills]\nlazy = true\n',
    ],
    [
      'at the top, beside others',
      'profile = "p"\n[profiles.p]\n[skills]\n',
      'default_model',
      'm',
      'profile = "p"\ndefault_model = "m"\n[profiles.p]\n[skills]\n',
    ],
    [
      'a list over several lines',
      '[permissions]\nallow = [\n  "a", # it\'s one]\n  "b",\n] # end\nask = []\n',
      'permissions.allow',
      'c, shell(git *)',
      '[permissions]\nallow = ["c", "shell(git *)"] # end\nask = []\n',
    ],
    [
      'a text over several lines',
      'default_model = """\na = 1\n[x]"""\n[skills]\n',
      'default_model',
      'q"\\',
      'default_model = "q\\"\\\\"\n[skills]\n',
    ],
    [
      'line ends of Windows',
      '[skills]\r\nlazy = true\r\n',
      'skills.max_depth',
      '2',
      '[skills]\r\nlazy = true\r\nmax_depth = 2\r\n',
    ],
    [
      'a key that needs quotes',
      '[agent.subagent_models]\na = "b"\n',
      'agent.subagent_models."x.y"',
      'm',
      '[agent.subagent_models]\na = "b"\n"x.y" = "m"\n',
    ],
    ['a duration stays as written', '', 'agent.timeout', '90s', '[agent]\ntimeout = "90s"\n'],
    ['a bare duration is seconds', '', 'agent.timeout', '090', '[agent]\ntimeout = 90\n'],
    [
      'an empty value removes the line',
      '[skills]\n# about\nlazy = true # x\nmax_depth = 2\n',
      'skills.lazy',
      '',
      '[skills]\n# about\nmax_depth = 2\n',
    ],
    [
      'an empty value removes all its lines',
      '[permissions]\nallow = [\n "a",\n]\n',
      'permissions.allow',
      '',
      '[permissions]\n',
    ],
    ['nothing, when there is nothing to remove', '# x\n', 'skills.lazy', '', '# x\n'],
    ['control characters', '', 'default_model', 'a\u007fb\u0001', 'default_model = "a\\u007fb\\u0001"\n'],
    ['the last dotted key of a table', '[skills]\nlist.style = "names"\n', 'skills.list.style', '', '[skills]\n'],
    ['a SCORPIOX name', '', 'TOOL_SEARCHSKILLS', '1', '[skills]\nlazy = true\n'],
  ])('%s', async (_, before, key, value, after) => {
    folders.write('project/reasonix.toml', before);
    await set(key, value);
    expect(text()).toBe(after);
    await folders.load({ profile: 'off' });
  });

  test('of the right provider', async () => {
    const before =
      '[[providers]]\nname = "a"\nkind = "openai"\n[[providers]]\nname = "b"\nkind = "openai"\n[providers.headers]\nX = "1"\n';
    folders.write('project/reasonix.toml', before);
    await set('providers.a.base_url', 'http://h/');
    await set('providers.a.headers.Y', '2');
    await set('providers.b.headers.Z', '3');
    expect(text()).toBe(
      '[[providers]]\nname = "a"\nkind = "openai"\nbase_url = "http://h/"\nheaders.Y = "2"\n[[providers]]\nname = "b"\nkind = "openai"\n[providers.headers]\nX = "1"\nZ = "3"\n',
    );
    await expect(set('providers.c.base_url', 'http://h/')).rejects.toThrow(/has no \[\[providers\]\] entry named "c"/);
  });

  test('takes typed values and says where it wrote', async () => {
    const result = await set('skills.paths', ['~/a b', 'c']);
    expect(result).toEqual({
      key: 'skills.paths',
      path: join(folders.project, 'reasonix.toml'),
      line: 2,
      created: true,
    });
    expect(text()).toBe('[skills]\npaths = ["~/a b", "c"]\n');
    expect(await set('skills.lazy', true)).toMatchObject({ line: 3, created: false });
    expect(await set('skills.lazy', '')).toMatchObject({ line: undefined });
  });
});

describe('the file', () => {
  test('of the user is private, that of the project is at the root of the repository', async () => {
    await set('skills.lazy', 'yes', 'user');
    expect(text('home/.reasonix/config.toml')).toBe('[skills]\nlazy = true\n');
    expect(statSync(join(folders.home, '.reasonix/config.toml')).mode & 0o777).toBe(0o600);
    const cwd = join(folders.project, 'deep');
    folders.write('project/deep/x', '');
    const { path } = await setKey('skills.lazy', 'no', { scope: 'project', cwd, home: folders.home });
    expect(path).toBe(join(folders.project, 'reasonix.toml'));
  });

  test('is the one that has the key, else the one there is', async () => {
    folders.write('project/.reasonix/config.toml', '[skills]\nlazy = true\n');
    expect((await set('agent.max_depth', '1')).path).toBe(join(folders.project, '.reasonix/config.toml'));
    folders.write('project/reasonix.toml', '');
    expect((await set('skills.lazy', '0')).path).toBe(join(folders.project, '.reasonix/config.toml'));
    expect((await set('agent.max_steps', '1')).path).toBe(join(folders.project, 'reasonix.toml'));
  });

  test('keeps its link and its mode, and leaves nothing beside it', async () => {
    const real = folders.write('shared/team.toml', '# team\n');
    const link = join(folders.project, 'reasonix.toml');
    symlinkSync(real, link);
    await set('skills.lazy', '1');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(text('shared/team.toml')).toBe('# team\n\n[skills]\nlazy = true\n');
    expect(readdirSync(join(folders.root, 'shared'))).toEqual(['team.toml']);
    expect(readdirSync(folders.project).sort()).toEqual(['.git', 'reasonix.toml']);
  });
});

describe('refuses, and writes nothing', () => {
  test.each([
    ['skills.max_depth', '9', '', /skills.max_depth: expected a whole number from 1 to 6, found "9"/],
    ['skills.lzy', '1', '', /nearest valid key is skills.lazy/],
    ['ADDITIONAL_SKILLS', '/a', '', /cannot be written/],
    ['agent.subagent_models', 'a=b', '', /cannot be written/],
    [
      'skills.list.style',
      'names',
      '[skills]\nlist = { include = ["a"] }\n',
      /line 2: skills.list.style cannot be set here: it is part of the value of skills.list/,
    ],
    ['default_model', 'half \ud800', '# x\n', /the file would no longer be valid/],
    ['skills.lazy', '1', '[skills\n', /line 1: not valid TOML/],
    ['skills.lazy', '1', 'skills = 3\n', /it is part of the value of skills/],
  ])('%s = %s in %j', async (key, value, before, message) => {
    folders.write('project/reasonix.toml', before);
    await expect(set(key, value)).rejects.toThrow(message);
    expect(text()).toBe(before);
  });

  test('a folder that is a file', async () => {
    folders.write('home/.reasonix', '');
    await expect(set('skills.lazy', '1', 'user')).rejects.toMatchObject({ code: 'config' });
  });
});

const comment = fc.stringMatching(/^# [ -~]{0,20}$/);
const block = fc.oneof(
  comment,
  fc.constantFrom(
    '',
    'lazy = true # [skills.list]',
    'max_depth = 2',
    "paths = [\n  \"a\", # it's ]\n  'b]', # x = 1\n]",
    'list.include = ["a=b", "#c"]',
    "disabled_skills = [\"\"\"\n[agent]\nmax_depth = 1\n\"\"\", ''''x''']",
    'required = { force = true, names = ["]}"] }',
  ),
);
const file = fc.record({
  top: fc.array(fc.oneof(comment, fc.constant(''), fc.constant("default_model = '#\"'")), { maxLength: 3 }),
  skills: fc.option(fc.array(block, { maxLength: 6 }), { nil: undefined }),
  agent: fc.option(
    fc.array(fc.oneof(comment, fc.constantFrom('max_depth = 1', 'subagent_models.x = "y"')), { maxLength: 3 }),
    { nil: undefined },
  ),
  newline: fc.constantFrom('\n', '\r\n'),
  ending: fc.boolean(),
});
const edits = fc.array(
  fc.constantFrom(
    ['default_model', 'x"y'],
    ['skills.lazy', 'no'],
    ['skills.max_depth', '5'],
    ['skills.paths', 'p, q'],
    ['skills.list.style', 'names'],
    ['skills.list.include', ''],
    ['skills.required.force', 'off'],
    ['agent.max_depth', '2'],
    ['agent.subagent_models.x', 'z'],
    ['tools.web_fetch.timeout', '5s'],
    ['skills.lazy', ''],
  ),
  { minLength: 1, maxLength: 4 },
);
const once = (lines: readonly string[]) =>
  lines.filter(
    (line, index) =>
      line === '' || line.startsWith('#') || lines.findIndex((other) => keyOf(other) === keyOf(line)) === index,
  );
const keyOf = (line: string) => line.split(' =')[0];

test('in random files every comment and every other key survives random edits', async () => {
  let written = 0;
  await fc.assert(
    fc.asyncProperty(file, edits, async (drawn, steps) => {
      const here = new TestFolders();
      try {
        const lines = [
          ...once(drawn.top),
          ...(drawn.skills ? ['[skills]', ...once(drawn.skills)] : []),
          ...(drawn.agent ? ['[agent] # limits', ...once(drawn.agent)] : []),
        ];
        const before = lines.join('\n').replaceAll('\n', drawn.newline) + (drawn.ending ? drawn.newline : '');
        const path = here.write('project/reasonix.toml', before);
        const expected = new Map([...(await here.load()).sources].map(([key, source]) => [key, source.value]));
        for (const [key, value] of steps as [string, string][]) {
          const previous = readFileSync(path, 'utf8');
          try {
            await setKey(key, value, { scope: 'project', cwd: here.project, home: here.home });
          } catch (error) {
            expect(String(error)).toMatch(/cannot be set here: it is part of the value of/);
            expect(readFileSync(path, 'utf8')).toBe(previous);
            continue;
          }
          written++;
          const after = readFileSync(path, 'utf8');
          const loaded = await here.load();
          for (const [name, source] of loaded.sources) {
            if (name !== key) expect(source.value, name).toEqual(expected.get(name));
          }
          expect(loaded.sources.get(key)?.tier ?? 'default').toBe(value === '' ? 'default' : 'project');
          const source = loaded.sources.get(key);
          if (source) expected.set(key, source.value);
          else expected.delete(key);
          for (const line of drawn.top.concat(drawn.skills ?? [], drawn.agent ?? [])) {
            if (line.startsWith('#')) expect(after).toContain(line);
          }
          if (before.includes('\r\n')) expect(after.replaceAll('\r\n', '')).not.toContain('\n');
        }
      } finally {
        here.remove();
      }
    }),
    { numRuns: 150 },
  );
  expect(written).toBeGreaterThan(100);
});
