import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { planFix } from '../../src/skills/lint/fix.ts';
import { lintSkills } from '../../src/skills/lint/lint.ts';
import { parseSkill, type SkillPlace } from '../../src/skills/parse.ts';
import { SkillFolder } from './folder.ts';

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const fix = (...paths: string[]) => lintSkills({ library: at.options(), paths, fix: true });

/** The header of the skill `tidy` after a repair; fails when anything but the header changed. */
async function repaired(header: string, body = 'Body  \n\n--- \n'): Promise<string> {
  const file = at.skill('tidy', header, body);
  await fix(file);
  const text = readFileSync(file, 'utf8');
  expect(text.startsWith('---\n')).toBe(true);
  expect(text.endsWith(`\n---\n${body}`)).toBe(true);
  return text.slice(4, -`\n---\n${body}`.length);
}

const TEXT = 'description: Use it when sorting.';

describe('quoting', () => {
  const CASES: [title: string, before: string, after: string][] = [
    ['a colon', 'description: Use when: sorting', 'description: "Use when: sorting"'],
    ['a colon and double quotes', 'description: Say "sort": it sorts', `description: 'Say "sort": it sorts'`],
    ['a colon and both quotes', `description: Don't say "x": say y`, `description: 'Don''t say "x": say y'`],
    ['a sign that starts no text', 'description: @sort the imports', 'description: "@sort the imports"'],
    ['quotes inside quotes', 'description: "Say "sort" to sort"', `description: 'Say "sort" to sort'`],
    ['words after a block sign', 'description: | Sorts imports', 'description: "Sorts imports"'],
    ['two bracket groups', `${TEXT}\nargument-hint: [a] [b]`, `${TEXT}\nargument-hint: "[a] [b]"`],
    ['one bracket group', `${TEXT}\nargument-hint: [a]  # words`, `${TEXT}\nargument-hint: "[a]"  # words`],
    ['a number for a description', 'description: 42', 'description: "42"'],
    ['a long text after " #"', 'description: Uses #tags in all files', 'description: "Uses #tags in all files"'],
    ['a wide colon', 'description：Use it when sorting', 'description: Use it when sorting'],
    ['an unknown key', `${TEXT}\nsummary: a: b`, `${TEXT}\nsummary: "a: b"`],
    [
      'lines, as a folded block',
      'description: Sorts. Examples: two\nuser: "please sort"\n\n<example>\nsorted\n</example>\nmodel: x',
      'description: >-\n  Sorts. Examples: two\n  user: "please sort"\n\n  <example>\n  sorted\n  </example>\nmodel: x',
    ],
  ];
  it.each(CASES)('%s', async (_, before, after) => {
    expect(await repaired(`name: tidy\n${before}\nlicense:  MIT   # as it is`)).toBe(
      `name: tidy\n${after}\nlicense:  MIT   # as it is`,
    );
  });

  it.each([
    ['a good header', TEXT],
    ['a description that is a comment only', `description: # ${'what it does is not said yet '.repeat(3)}`],
    ['what is a comment to people too', 'description: Use it when sorting # todo'],
    ['lists of tools, however broken', `${TEXT}\nallowed-tools:\n  - - read\n- exec`],
    ['mappings', `${TEXT}\nmetadata: {"a": ["b"}`],
    ['lists and mappings of unknown keys', `${TEXT}\nextra: [a] [b]\nother: {a: b`],
    ['doubled keys', `${TEXT}\n${TEXT}`],
    ['what a merge left behind', 'description: a: b\n<<<<<<< mine\nlicense: MIT\n=======\n>>>>>>> theirs'],
    ['choices and flags', `${TEXT}\nrunAs: sub: agent\nread-only: yes: no`],
  ])('leaves %s alone', async (_, header) => {
    expect(await repaired(`name: tidy\n${header}`)).toBe(`name: tidy\n${header}`);
  });

  it('keeps line ends, marks and encodings', async () => {
    const header = 'name: tidy\ndescription: Grüße: sortiert\nlicense: MIT';
    const fixed = 'name: tidy\ndescription: "Grüße: sortiert"\nlicense: MIT';
    const whole = (each: string, end: string): string => `---\n${each}\n---\nBödy\n\n`.replaceAll('\n', end);
    const encodings: [string, (text: string) => Buffer][] = [
      ['utf-8', (text) => Buffer.from(text)],
      ['utf-8 with a mark', (text) => Buffer.from(`\uFEFF${text}`)],
      ['utf-16', (text) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
      ['utf-16 the other way', (text) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16()],
    ];
    for (const end of ['\n', '\r\n', '\r']) {
      for (const [name, encode] of encodings) {
        const file = at.write('tidy/SKILL.md', encode(whole(header, end)));
        await fix(file);
        expect(readFileSync(file).equals(encode(whole(fixed, end))), `${name} ${JSON.stringify(end)}`).toBe(true);
      }
    }
  });

  it('leaves a file alone that it could not write back byte for byte', async () => {
    const broken = Buffer.concat([Buffer.from('---\nname: tidy\ndescription: a: b\n---\n'), Buffer.from([0xff, 0xc3])]);
    const file = at.write('tidy/SKILL.md', broken);
    const { fixed, problems } = await fix(file);
    expect(fixed).toEqual([]);
    expect(problems.every(({ fixable }) => !fixable)).toBe(true);
    expect(readFileSync(file).equals(broken)).toBe(true);
  });

  it('leaves front matter alone that is none to others', async () => {
    for (const text of [
      '---\nname: x\ndescription: a: b\n',
      'name: x\ndescription: a: b\n\nText\n',
      '# Text\na: b: c\n',
    ]) {
      const file = at.write('tidy/SKILL.md', text);
      await fix(file);
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
  });
});

describe('names', () => {
  const nameOf = async (folder: string, name: string): Promise<string | undefined> => {
    const file = at.skill(folder, `${name}\n${TEXT}`);
    await fix(dirname(file));
    return /^name:.*$/m.exec(readFileSync(file, 'utf8'))?.[0];
  };

  it.each([
    ['another one', 'tidy', 'name: sorter', 'name: tidy'],
    ['blanks and capitals', 'tidy', 'name: "Tidy Up"  # mine', 'name: "tidy"  # mine'],
    ['an empty one', 'tidy', 'name:', 'name: tidy'],
    ['a number', '2024', 'name: 2024', 'name: "2024"'],
    ['one made of a flag', 'true', 'name: x', 'name: "true"'],
    ['one that no folder gives', 'Tidy Up', 'name: Tidy up!', 'name: tidy-up'],
    ['one in a folder of a name that is valid here only', 'Tidy_Up', 'name: Tidy up!', 'name: Tidy_Up'],
    ['one with an escape', 'tidy', 'name: tidy\\_up', 'name: tidy'],
  ])('%s', async (_, folder, before, after) => {
    expect(await nameOf(folder, before)).toBe(after);
  });

  it.each([
    ['its folder by name', 'tidy', 'name: tidy'],
    ['a valid name in a folder of a worse one', 'Tidy_Up', 'name: tidy-up'],
    ['a name in a folder that all skills have', 'skills', 'name: tidy'],
    ['two names', 'tidy', 'name: a\nName: b'],
    ['a list', 'tidy', 'name:\n  - a'],
  ])('leaves alone %s', async (_, folder, name) => {
    const file = at.skill(folder, `${name}\n${TEXT}`);
    const before = readFileSync(file, 'utf8');
    await fix(dirname(file));
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('writes the one that is missing', async () => {
    expect(await repaired(`# mine\n${TEXT}`)).toBe(`# mine\nname: tidy\n${TEXT}`);
  });

  it('changes those of flat files only when they are no names', async () => {
    const other = at.write('skills/other.md', `---\nname: mine\n${TEXT}\n---\nBody\n`);
    const odd = at.write('skills/odd.md', `---\nname: My Own\n${TEXT}\n---\nBody\n`);
    await fix('../skills');
    expect(readFileSync(other, 'utf8')).toContain('\nname: mine\n');
    expect(readFileSync(odd, 'utf8')).toContain('\nname: my-own\n');
  });

  it('makes no two skills one, and keeps the name that others call', async () => {
    const first = at.skill('s/a', `name: b\n${TEXT}`);
    const second = at.skill('s/b', `name: c\n${TEXT}`);
    const called = at.skill('s/d', `name: helper\n${TEXT}`);
    at.skill('s/e', `name: e\n${TEXT}\nskills: [helper]`);
    const same = ['x/f', 'y/f'].map((folder) => at.skill(`s/${folder}`, `name: g-${folder[0]}\n${TEXT}`));
    await fix('../s');
    const nameIn = (file: string): string | undefined => /^name: (.*)$/m.exec(readFileSync(file, 'utf8'))?.[1];
    expect([nameIn(first), nameIn(second), nameIn(called)]).toEqual(['a', 'b', 'helper']);
    expect(same.map(nameIn)).toEqual(['f', 'g-y']);
  });
});

describe('the report', () => {
  it('says before what would be repaired, and nothing of it afterwards', async () => {
    const file = at.skill('tidy', 'name: Tidy Up\ndescription: Use when: sorting imports\ncolour: red');
    const library = at.options();
    const before = await lintSkills({ library, paths: [file] });
    const fixable = before.problems.filter((each) => each.fixable).map(({ code }) => code);
    expect(fixable).toEqual(['name-odd', 'name-differs', 'name-not-specified', 'yaml-repaired']);
    expect(before.fixed).toEqual([]);
    const strict = await lintSkills({ library, paths: [file], strict: true });
    expect(strict.problems.map(({ code, fixable: can }) => [code, can])).toEqual([['spec-yaml', true]]);
    const after = await fix(file);
    expect(after.fixed).toEqual([
      {
        path: file,
        edits: [
          {
            line: 3,
            before: ['description: Use when: sorting imports'],
            after: ['description: "Use when: sorting imports"'],
          },
          { line: 2, before: ['name: Tidy Up'], after: ['name: tidy'] },
        ],
      },
    ]);
    expect(after.problems.map(({ code, fixable: can }) => [code, can])).toEqual([['key-extension', false]]);
    expect((await fix(file)).fixed).toEqual([]);
  });

  it('replaces files at once, keeps modes and links, and leaves nothing behind', async () => {
    const real = at.write('elsewhere/tidy.txt', `---\nname: x\n${TEXT}\n---\nBody\n`);
    chmodSync(real, 0o640);
    const link = join(dirname(at.write('tidy/notes.txt', 'x')), 'SKILL.md');
    symlinkSync(real, link);
    const inode = statSync(real).ino;
    await fix(link);
    expect(readFileSync(real, 'utf8')).toContain('name: tidy\n');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o640);
    expect(statSync(real).ino).not.toBe(inode);
    expect(readdirSync(dirname(real))).toEqual(['tidy.txt']);
  });

  it.skipIf(process.getuid?.() === 0)('says that a file could not be written', async () => {
    const file = at.skill('tidy', `name: x\n${TEXT}`);
    chmodSync(file, 0o444);
    const { problems, fixed } = await fix(file);
    expect(fixed).toEqual([]);
    expect(problems).toContainEqual(expect.objectContaining({ severity: 'error', code: 'fix-failed', path: file }));
  });
});

describe('any header', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.string({ unit: fc.constantFrom(...`ab: #'"[]{}|>-,&*!%@\\\t<>/\u2028é😀`), maxLength: 20 }),
    fc.constantFrom(
      'Use when: x',
      '[a] [b]',
      '"a" b',
      "it's: 'x'",
      '| words',
      '123',
      'true',
      '~',
      '# x',
      'a #b c',
      '>-',
      '- - read',
    ),
  );
  const key = fc.constantFrom(
    'name',
    'description',
    'allowed-tools',
    'tools',
    'disallowed-tools',
    'disable-model-invocation',
    'read-only',
    'argument-hint',
    'model',
    'max-steps',
    'metadata',
    'runAs',
    'summary',
    'Name',
    'license',
  );
  const line = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(key, fc.constantFrom(': ', ':', '： ', ' : '), text).map((parts) => parts.join('')),
    },
    { weight: 1, arbitrary: text },
    { weight: 1, arbitrary: text.map((each) => `  ${each}`) },
    { weight: 1, arbitrary: text.map((each) => `- ${each}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('', '# comment', '<example>', '</example>', 'user: "hi"', '...', '  - read'),
    },
  );
  const header = fc.array(line, { maxLength: 8 }).filter((lines) => !lines.some((each) => /^---[ \t]*$/m.test(each)));
  const end = fc.constantFrom('\n', '\r\n', '\r');
  const place: SkillPlace = { file: '/s/tidy/SKILL.md', scope: 'custom', root: '/s', layout: 'folder' };
  const free = { isTaken: () => false, isCalled: () => false };

  it('keeps its body and every restriction, and is repaired once', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(header, end, fc.string({ unit: 'grapheme' }), async (lines, lineEnd, body) => {
        const before = Buffer.from(['---', ...lines, '---', body].join(lineEnd));
        const plan = await planFix(before, place, free);
        if (plan === undefined) return;
        count++;
        const [old, now] = await Promise.all([parseSkill(before, place), parseSkill(plan.bytes, place)]);
        expect(now.body).toBe(old.body);
        expect(plan.bytes.subarray(plan.bytes.length - Buffer.byteLength(old.body)).equals(Buffer.from(old.body))).toBe(
          true,
        );
        const meaning = ({ skill }: typeof old): unknown => {
          const { name, description, stamp, diagnostics, ...rest } = skill!;
          return rest;
        };
        expect(meaning(now)).toEqual(meaning(old));
        expect(now.skill?.description.startsWith(old.skill!.description)).toBe(true);
        expect(await planFix(plan.bytes, place, free)).toBeUndefined();
        const changed = new Set(plan.edits.flatMap((edit) => edit.before));
        const kept = lines
          .join('\n')
          .split(/\r\n|\n|\r/)
          .filter((each) => !changed.has(each));
        const after = new Set(plan.bytes.toString().split(/\r\n|\n|\r/));
        for (const each of kept) expect(after.has(each), JSON.stringify(each)).toBe(true);
      }),
      { numRuns: 1_500 },
    );
    expect(count).toBeGreaterThan(250);
  }, 120_000);
});
