import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import { archiveTree } from '../../src/skills/install/archive.ts';
import { collidingPaths, unusablePath } from '../../src/skills/install/entry-names.ts';
import { type MadeEntry, skillText, tarOf, tgzOf, zipOf } from './install-archives.ts';
import { InstallFolder } from './install-place.ts';

let folder: InstallFolder;
let temporary: string;
beforeEach(() => {
  folder = new InstallFolder();
  // Of its own: in that of the system others install at the same time.
  temporary = join(folder.path, 'temporary');
  mkdirSync(temporary);
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) vi.stubEnv(name, temporary);
});
afterEach(() => {
  vi.unstubAllEnvs();
  folder[Symbol.dispose]();
});

const SKILL: MadeEntry = { name: 'good/SKILL.md', content: skillText('good') };
const both = (entries: MadeEntry[], ofTar = entries): [string, Buffer][] => [
  ['x.zip', zipOf([SKILL, ...entries])],
  ['x.tar', tarOf([SKILL, ...ofTar])],
  ['x.tgz', tgzOf([SKILL, ...ofTar])],
];
/** A plain tar packs nothing. */
const packed = (entries: MadeEntry[]): [string, Buffer][] => both(entries).filter(([name]) => name !== 'x.tar');
const file = (name: string, content = 'x'): MadeEntry[] => [{ name, content }];
const link = (name: string, target: string): [MadeEntry[], MadeEntry[]] => [
  [{ name, content: target, mode: 0o120777 }],
  [{ name, type: '2', link: target }],
];

/** Nothing in the project, nothing left in the folder for temporary files. */
function expectNothing(): void {
  expect(folder.installed()).toEqual([]);
  expect(readdirSync(temporary)).toEqual([]);
}

const cases: [string, [string, Buffer][], RegExp][] = [
  ['a path upwards', both(file('../o/SKILL.md', skillText('o'))), /leads upwards/],
  ['a path upwards in the middle', both(file('good/../../o')), /leads upwards/],
  ['an absolute path', both(file('/abs')), /is absolute/],
  ['backslashes', both(file('a\\..\\b')), /holds a backslash/],
  ['a drive letter', both(file('C:/x')), /drive letter/],
  ['a link that is absolute', both(...link('good/l', '/etc/passwd')), /leads out/],
  ['a link upwards', both(...link('good/l', '../../x')), /leads out/],
  ['a link inside a skill', both(...link('good/l', 'SKILL.md')), /is a link/],
  [
    'a file through a link',
    both(
      [...link('good/d', 'sub')[0], ...file('good/d/SKILL.md')],
      [...link('good/d', 'sub')[1], ...file('good/d/SKILL.md')],
    ),
    /there twice/,
  ],
  ['names that differ in case only', both([...file('good/A.md'), ...file('good/a.md')]), /are one on many systems/],
  ['names that differ in form only', both([...file('good/é'), ...file('good/e\u0301')]), /are one on many systems/],
  ['an entry twice', both([...file('good/x'), ...file('good/x', 'other')]), /is there twice/],
  ['a name with a sign that turns text', both(file('good/\u202etxt.exe')), /invisible/],
  ['a huge entry', both([{ name: 'good/big', content: 'x', declared: 0xfff0_0000 }]), /GB|MB|more than|damaged/],
  ['a hard link', [['x.tar', tarOf([SKILL, { name: 'good/h', type: '1', link: 'good/SKILL.md' }])]], /leads out/],
  ['a device', [['x.tar', tarOf([SKILL, { name: 'good/d', type: '3' }])]], /no file, folder or link/],
  ['a pipe', [['x.tar', tarOf([SKILL, { name: 'good/p', type: '6' }])]], /no file, folder or link/],
  ['a NUL in a name', [['x.zip', zipOf([SKILL, ...file('good/a\0b')])]], /holds a NUL/],
  [
    'less than declared',
    [['x.zip', zipOf([SKILL, { name: 'good/x', content: 'abc', declared: 5 }])]],
    /smaller|damaged/,
  ],
  [
    'more than declared',
    [['x.zip', zipOf([SKILL, { name: 'good/x', content: 'abcdef', declared: 2 }])]],
    /larger|damaged/,
  ],
  [
    'a cut tar',
    [['x.tar', tarOf([SKILL, { name: 'good/x', content: 'x'.repeat(5_000) }]).subarray(0, 3_000)]],
    /damaged/,
  ],
  ['a cut zip', [['x.zip', zipOf([SKILL]).subarray(0, 120)]], /damaged/],
  ['a web page', [['x.zip', Buffer.from('<!doctype html><p>Not found')]], /web page/],
  [
    'a name that is a path',
    both(file('evil/SKILL.md', '---\nname: ../../evil\ndescription: Evil.\n---\nx\n')),
    /relative path/,
  ],
  [
    'too many files',
    both(Array.from({ length: 2_001 }, (_, index) => ({ name: `good/${index}`, content: '' }))),
    /files are the most/,
  ],
  ['a bomb', packed([{ name: 'good/zeros', content: Buffer.alloc(9_000_000) }]), /would become/],
  [
    'too much',
    both(Array.from({ length: 7 }, (_, index) => ({ name: `good/${index}`, content: Buffer.alloc(9_000_000, 'ab') }))),
    /more than|would become|files/,
  ],
];

describe('G02: an archive with', () => {
  test.each(cases)('%s is refused before anything is written', async (_, archives, why) => {
    for (const [name, bytes] of archives) {
      folder.write(name, bytes);
      const error = await folder.install(`./${name}`).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(ReasonixError.isInstance(error, 'skill_refused'), `${name}: ${String(error)}`).toBe(true);
      expect((error as Error).message).toMatch(why);
      expectNothing();
    }
  });

  test('nothing wrong is installed whole: folders, modes, other encodings of names', async () => {
    const entries: MadeEntry[] = [
      { name: './top/', type: '5', mode: 0o40755 },
      { name: 'top/翻译/SKILL.md', content: skillText('翻译') },
      { name: 'top/翻译/scripts/run.sh', content: '#!/bin/sh\n', mode: 0o106755 },
      { name: 'top/翻译/inner.zip', content: zipOf([{ name: '../x', content: 'x' }]) },
      { name: 'top/翻译/.git/config', content: '[core]\nfsmonitor = touch x\n' },
      { name: 'top/node_modules/p/SKILL.md', content: skillText('p') },
    ];
    for (const [name, bytes] of [
      ['x.zip', zipOf(entries)],
      ['x.tgz', tgzOf(entries)],
    ] as const) {
      folder.write(name, bytes);
      const plan = await folder.install(`./${name}`, { force: true });
      expect(plan.skills.map((skill) => skill.name)).toEqual(['翻译']);
      expect(folder.installed()).toEqual([
        'skills.lock',
        'skills/翻译/SKILL.md',
        'skills/翻译/inner.zip',
        'skills/翻译/scripts/run.sh',
      ]);
      expect(folder.isExecutable('skills/翻译/scripts/run.sh')).toBe(true);
      expect(folder.isExecutable('skills/翻译/SKILL.md')).toBe(false);
    }
  });

  test('random bytes, or random damage, never does more than being refused', async () => {
    const zip = zipOf([SKILL, { name: 'good/x', content: 'y'.repeat(3_000) }]);
    const tgz = tgzOf([SKILL, { name: 'good/x', content: 'y'.repeat(3_000) }]);
    const damage = fc.array(fc.tuple(fc.nat(zip.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(damage, fc.constantFrom(zip, tgz, tarOf([SKILL])), async (changes, archive) => {
        const bytes = Buffer.from(archive);
        for (const [at, value] of changes) bytes[at % bytes.length] = value;
        try {
          const tree = await archiveTree(bytes, 'x');
          for (const { path } of tree.entries) expect(path).not.toMatch(/^\/|(?:^|\/)\.\.(?:\/|$)|\\|\0/);
        } catch (error) {
          expect(ReasonixError.isInstance(error, 'skill_refused'), String(error)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a tar that unpacks to far more than it may is stopped while it is unpacked', async () => {
    const bytes = gzipSync(Buffer.alloc(70 * 1024 * 1024));
    await expect(archiveTree(bytes, 'x.tgz')).rejects.toThrow(/more than/);
  });
});

describe('a folder with', () => {
  test.each([
    ['a link in a skill', 'secret', /is a link/],
    ['a link to a folder in a skill', '.', /is a link/],
  ])('%s is refused', async (_, target, why) => {
    folder.write('secret', 'x');
    folder.write('src/a/SKILL.md', skillText('a'));
    symlinkSync(join(folder.path, target), join(folder.path, 'src/a/l'));
    await expect(folder.install('./src')).rejects.toThrow(why);
    expect(folder.installed()).toEqual([]);
  });

  test('a link elsewhere is installed without it, and says so', async () => {
    folder.write('src/a/SKILL.md', skillText('a'));
    folder.write('elsewhere/SKILL.md', skillText('b'));
    symlinkSync(join(folder.path, 'elsewhere'), join(folder.path, 'src/skills'));
    const plan = await folder.install('./src');
    expect(plan.skills.map(({ name }) => name)).toEqual(['a']);
    expect(folder.installed()).toEqual(['skills.lock', 'skills/a/SKILL.md']);
  });
});

test.each(['con', 'AUX.txt', 'a:b', 'x ', 'x.', 'a/nul/b', 'q?', `${'é'.repeat(150)}`])(
  'the path %j is unusable',
  (path) => {
    expect(unusablePath(path)).toBeDefined();
  },
);

test('paths collide by any of their folders', () => {
  expect(collidingPaths(['A/x', 'a/y'])).toHaveLength(1);
  expect(collidingPaths(['a', 'a/b'])).toHaveLength(1);
  expect(collidingPaths(['a/b', 'a/c', 'ab'])).toEqual([]);
});
