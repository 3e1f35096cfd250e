import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildVersion, type Columns, readColumns, writeColumns } from '../../src/skills/cache-file.ts';
import { namesOf, SkillFolder } from './folder.ts';

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const SKILLS = 'project/.reasonix/skills';
const cacheFolder = (): string => join(at.home, '.reasonix/cache');
const cacheFiles = (): string[] =>
  readdirSync(cacheFolder())
    .filter((name) => name.startsWith('skills-'))
    .map((name) => join(cacheFolder(), name));

const [PATH, HASH, DESCRIPTION] = [0, 1, 3];

/** Makes what the cache says differ from the files, so that one sees where an answer comes from. */
function markCache(change: (columns: Columns) => void): void {
  for (const file of cacheFiles()) {
    const { columns } = readColumns(file);
    change(columns);
    writeColumns(cacheFolder(), file, columns);
  }
}

const column = ({ texts }: Columns, which: number): string[] => texts.filter((_, index) => index % 4 === which);

/** As if the files had been read long after they were written. */
function settle(columns: Columns): void {
  for (const [row, path] of column(columns, PATH).entries()) {
    const { size, mtimeMs, ctimeMs, ino } = statSync(join(at.path, SKILLS, path));
    columns.states.set([size, mtimeMs, ctimeMs, ino], 4 * row);
  }
}

function fromCache(columns: Columns): void {
  for (let index = DESCRIPTION; index < columns.texts.length; index += 4) columns.texts[index] = 'from the cache';
  settle(columns);
}

describe('the index in the cache', () => {
  it('answers for files that did not change, without reading them', async () => {
    at.skill(`${SKILLS}/a`, 'description: from the file');
    at.skill(`${SKILLS}/b`, 'description: from the file');
    const before = await at.open();
    markCache(fromCache);
    const library = await at.open();
    expect(library.skills.map(({ description }) => description)).toEqual(['from the cache', 'from the cache']);
    expect(library.fingerprint).toBe(before.fingerprint);
  });

  it('gives the same answer as the files', async () => {
    at.skill(
      `${SKILLS}/a`,
      'name: A x\ndescription: d\ntools: [Read, Nope]\nmax-steps: x\nread-only: on\nruns: y\narguments: p q\nmetadata: {k: v}\noutput-schema: {type: object}\nuser-invocable: no\nrunAs: subagent\ninvocation: manual',
    );
    at.skill(`${SKILLS}/b`, 'description: d\ntools: []\noutput-schema: {}');
    at.write(`${SKILLS}/README.md`, '# x');
    const cold = await at.open();
    markCache(settle);
    const warm = await at.open();
    expect(warm.skills).toEqual(cold.skills);
    expect(warm.skills[1]!.allowedTools).toEqual([]);
    expect(warm.diagnostics).toEqual(cold.diagnostics);
    expect(warm.roots).toEqual(cold.roots);
  });

  it.each<[string, (file: string) => void]>([
    [
      'an edit in place of the same size',
      (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('file', 'disk')),
    ],
    [
      'an edit that puts the time of change back',
      (file) => {
        const before = statSync(file, { bigint: true });
        const sameTime = join(at.path, 'same-time');
        execFileSync('touch', ['-r', file, sameTime]);
        writeFileSync(file, readFileSync(file, 'utf8').replace('file', 'disk'));
        execFileSync('touch', ['-r', sameTime, file]);
        expect(statSync(file, { bigint: true }).mtimeNs).toBe(before.mtimeNs);
      },
    ],
    [
      'another file in its place',
      (file) => {
        writeFileSync(`${file}.new`, readFileSync(file, 'utf8').replace('file', 'disk'));
        renameSync(`${file}.new`, file);
      },
    ],
    [
      'a time of change in the future',
      (file) => {
        writeFileSync(file, readFileSync(file, 'utf8').replace('file', 'disk'));
        utimesSync(file, new Date(), new Date(Date.now() + 86_400_000));
      },
    ],
  ])('sees %s', async (_, edit) => {
    const file = at.skill(`${SKILLS}/a`, 'description: from the file');
    await at.open();
    markCache(fromCache);
    edit(file);
    expect((await at.open()).skills[0]!.description).toBe('from the disk');
  });

  it('does not trust a file that changed while it was read', async () => {
    const file = at.skill(`${SKILLS}/a`, 'description: from the file');
    // later than it is read, however slow the machine is
    utimesSync(file, new Date(), new Date(Date.now() + 3_600_000));
    await at.open();
    markCache(({ texts }) => {
      texts[DESCRIPTION] = 'from the cache';
      texts[HASH] = 'of something older';
    });
    expect((await at.open()).skills[0]!.description).toBe('from the file');
  });

  it('keeps what it knows when only the state of a file changed', async () => {
    const file = at.skill(`${SKILLS}/a`, 'description: from the file');
    const { fingerprint } = await at.open();
    markCache(fromCache);
    chmodSync(file, 0o640);
    const library = await at.open();
    expect(library.skills[0]!.description).toBe('from the cache');
    expect(library.fingerprint).toBe(fingerprint);
  });

  it('forgets files that are gone, and finds those that came', async () => {
    at.skill(`${SKILLS}/a`, 'description: d');
    at.skill(`${SKILLS}/b`, 'description: d');
    await at.open();
    rmSync(join(at.path, SKILLS, 'a'), { recursive: true });
    at.skill(`${SKILLS}/group/c`, 'description: d');
    expect(namesOf(await at.open())).toEqual(['b', 'c']);
    rmSync(join(at.path, SKILLS), { recursive: true });
    expect(namesOf(await at.open())).toEqual([]);
  });

  it.each(['', '{', 'null', '[]', '{"version":1}', '\0\0\0', '{"version":"x","files":["y"]}\n'])(
    'ignores a damaged cache: %j',
    async (content) => {
      at.skill(`${SKILLS}/a`, 'description: d');
      await at.open();
      for (const file of cacheFiles()) writeFileSync(file, content);
      expect(namesOf(await at.open())).toEqual(['a']);
      markCache((columns) => expect(column(columns, DESCRIPTION)).toEqual(['d']));
    },
  );

  it('ignores a cache that was cut, wherever it was', async () => {
    at.skill(`${SKILLS}/a`, 'description: one\nruns: x');
    at.skill(`${SKILLS}/b`, 'description: two');
    const { skills } = await at.open();
    const [file] = cacheFiles();
    markCache(settle);
    const whole = readFileSync(file!);
    for (let length = 0; length < whole.length; length += 7) {
      writeFileSync(file!, whole.subarray(0, length));
      expect(readColumns(file!)).toMatchObject({ columns: { texts: [] }, additions: Number.POSITIVE_INFINITY });
    }
    writeFileSync(file!, whole.subarray(0, -1));
    expect((await at.open()).skills).toEqual(skills);
    // written anew
    expect(column(readColumns(file!).columns, DESCRIPTION)).toEqual(['one', 'two']);
  });

  it.each<[string, (file: Buffer) => void]>([
    ['nothing where the states are', (file) => void file.fill(0, file.length - 64)],
    ['something else where the states are', (file) => void file.fill(0x7f, file.length - 64)],
    ['nothing where the texts are', (file) => void file.fill(0, file.indexOf('a/SKILL.md'), file.length - 64)],
    ['a line more', (file) => void file.write('\n', file.indexOf('from the cache'))],
    ['a text that is none', (file) => void file.write('\\x', file.indexOf('from the cache'))],
    ['nothing where the head is', (file) => void file.fill(0, 0, file.indexOf('\n'))],
    ['fewer files', (file) => void file.write('1', file.indexOf('"files":') + 8)],
    ['more files', (file) => void file.write('9', file.indexOf('"files":') + 8)],
    ['no record of the rest', (file) => void file.write('7 ', file.indexOf('"extras":') + 9)],
    ['less text', (file) => void file.write('11', file.indexOf('"length":') + 9)],
    ['more text', (file) => void file.write('99', file.indexOf('"length":') + 9)],
  ])('reads the files again when the cache holds %s', async (_, damage) => {
    at.skill(`${SKILLS}/a`, 'description: from the file');
    at.skill(`${SKILLS}/b`, 'description: from the file');
    const { fingerprint } = await at.open();
    markCache((columns) => {
      fromCache(columns);
      // so that what is kept is not what is read
      for (let index = HASH; index < columns.texts.length; index += 4) columns.texts[index] = 'of something older';
    });
    const [file] = cacheFiles();
    const bytes = readFileSync(file!);
    damage(bytes);
    rmSync(file!);
    writeFileSync(file!, bytes);
    const library = await at.open();
    expect(library.skills.map(({ description }) => description)).not.toContain('from the cache');
    expect(library.fingerprint).toBe(fingerprint);
  });

  it.each<[string, unknown]>([
    ['a number', 7],
    ['nothing', null],
    ['something to report that is no list', { diagnostics: 'x' }],
    ['a header that is a number', { header: 7 }],
    ['a header that is nothing', { header: null }],
  ])('reads a file again of which it knows %s besides, and that file alone', async (_, extra) => {
    at.skill(`${SKILLS}/a`, 'description: one');
    at.skill(`${SKILLS}/b`, 'description: two');
    await at.open();
    markCache((columns) => {
      fromCache(columns);
      Object.assign(columns.extras, { 0: extra });
    });
    const { skills } = await at.open();
    expect(skills.map(({ name, description }) => [name, description])).toEqual([
      ['a', 'one'],
      ['b', 'from the cache'],
    ]);
  });

  it.each(['…', 'ü', '日本', '😀', '\\u0041', 'C:\\new\\u', '"', 'one\n\ntwo', '\u0000', '\u2028', '\u007f'])(
    'keeps %j in a name of a folder and a description as it is',
    async (text) => {
      const folder = text.replace(/[\0]/g, '');
      at.skill(`${SKILLS}/a${folder}`, `name: a\ndescription: ${JSON.stringify(`x${text}y`)}`);
      at.skill(`${SKILLS}/b`, 'description: d');
      const cold = await at.open();
      markCache(settle);
      markCache(({ texts }) => {
        texts[4 + DESCRIPTION] = 'from the cache';
      });
      const { skills } = await at.open();
      expect(skills).toEqual([cold.skills[0], { ...cold.skills[1], description: 'from the cache' }]);
      expect(skills[0]!.description).toContain(text.trim().split('\n')[0]);
    },
  );

  it.each<[string, object]>([
    ['of another build', { version: 'x' }],
    ['without a row', { row: undefined }],
    ['of a row below the first', { row: -1 }],
    ['with a text too few', { texts: ['a/SKILL.md', 'hash', 'a'] }],
    ['with a text that is none', { texts: ['a/SKILL.md', 'hash', 'a', 7] }],
    ['without a state', { state: undefined }],
    ['with a state that is none', { state: [1, 2, 3, 'x'] }],
    ['with something else that is none', { extra: 7 }],
  ])('ignores a line %s', async (_, wrong) => {
    at.skill(`${SKILLS}/a`, 'description: d');
    await at.open();
    markCache(fromCache);
    const [file] = cacheFiles();
    const line = { version: buildVersion(), row: 0, texts: ['a/SKILL.md', 'hash', 'a', 'wrong'], state: [1, 2, 3, 4] };
    appendFileSync(file!, `${JSON.stringify({ ...line, ...wrong })}\n`);
    expect((await at.open()).skills).toMatchObject([{ description: 'from the cache' }]);
  });

  it('knows the states of all files that one process read', async () => {
    for (let index = 0; index < 20; index++) at.skill(`${SKILLS}/s${index}`, 'description: d');
    // a file that changed this moment may change again within the same tick of its clock
    await new Promise((resolve) => setTimeout(resolve, 80));
    await at.open();
    markCache((columns) => {
      const { states } = columns;
      columns.states = states.slice();
      settle(columns);
      expect(columns.states).toEqual(states);
    });
  });

  it('is private, and does without when it cannot be written', async () => {
    at.skill(`${SKILLS}/a`, 'description: d');
    await at.open();
    expect(statSync(cacheFolder()).mode & 0o777).toBe(0o700);
    for (const file of cacheFiles()) expect(statSync(file).mode & 0o777).toBe(0o600);
    at.write('not-a-folder', 'x');
    expect(namesOf(await at.open({ reasonixHome: join(at.path, 'not-a-folder/home') }))).toEqual(['a']);
  });

  it('adds a line for a file that changed, and takes the last of a file', async () => {
    const file = at.skill(`${SKILLS}/a`, 'description: one');
    at.skill(`${SKILLS}/b`, 'description: ü…😀');
    await at.open();
    markCache(settle);
    at.skill(`${SKILLS}/a`, 'description: two');
    await at.open();
    at.skill(`${SKILLS}/a`, 'description: three');
    const { skills } = await at.open();
    expect(skills.map(({ description }) => description)).toEqual(['three', 'ü…😀']);
    const [cache] = cacheFiles();
    expect(readColumns(cache!).additions).toBe(2);
    // what a process that was killed leaves
    writeFileSync(cache!, readFileSync(cache!, 'utf8').slice(0, -20));
    expect((await at.open()).skills).toEqual(skills);
    rmSync(file);
    expect(namesOf(await at.open())).toEqual(['b']);
  });

  it('is written anew once much of it is of no use', async () => {
    for (let index = 0; index < 100; index++) at.skill(`${SKILLS}/s${index}`, 'description: d');
    await at.open();
    for (let index = 0; index < 90; index++) rmSync(join(at.path, SKILLS, `s${index}`), { recursive: true });
    await at.open();
    markCache((columns) => expect(column(columns, PATH)).toHaveLength(10));
    for (let round = 0; round < 10; round++) {
      for (let index = 90; index < 100; index++) at.skill(`${SKILLS}/s${index}`, `description: in round ${round}`);
      expect((await at.open()).skills.map(({ description }) => description)).toEqual(
        Array(10).fill(`in round ${round}`),
      );
      const [cache] = cacheFiles();
      expect(readColumns(cache!).additions).toBeLessThan(70);
    }
  });

  it('finds what another process added to it meanwhile', async () => {
    at.skill(`${SKILLS}/a`, 'description: d');
    const [one, other] = [await at.open(), await at.open()];
    at.skill(`${SKILLS}/b`, 'description: d');
    await one.refresh();
    at.skill(`${SKILLS}/0`, 'description: d');
    await other.refresh();
    expect(namesOf(await at.open())).toEqual(['0', 'a', 'b']);
    const [cache] = cacheFiles();
    const { columns } = readColumns(cache!);
    expect(column(columns, PATH)).toEqual(['a', 'b', '0'].map((name) => join(name, 'SKILL.md')));
  });

  it('writes nothing when nothing changed', async () => {
    at.skill(`${SKILLS}/a`, 'description: d');
    await at.open();
    markCache(settle);
    const before = cacheFiles().map((file) => statSync(file).mtimeMs);
    await at.open();
    expect(cacheFiles().map((file) => statSync(file).mtimeMs)).toEqual(before);
  });
});
