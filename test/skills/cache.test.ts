import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

interface Columns {
  files: string[];
  states: number[];
  hashes: string[];
  headers: ({ name: string; description?: string } | null)[];
}

/** Makes what the cache says differ from the files, so that one sees where an answer comes from. */
function markCache(change: (columns: Columns) => void): void {
  for (const file of cacheFiles()) {
    const columns = JSON.parse(readFileSync(file, 'utf8')) as Columns;
    change(columns);
    // the file is of ASCII only
    const text = JSON.stringify(columns).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    writeFileSync(file, `${text}\n`);
  }
}

/** As if the files had been read long after they were written. */
function settle({ files, states }: Columns): void {
  states.length = 0;
  for (const file of files) {
    const { size, mtimeMs, ctimeMs, ino } = statSync(file);
    states.push(size, mtimeMs, ctimeMs, ino);
  }
}

function fromCache(columns: Columns): void {
  for (const header of columns.headers) header!.description = 'from the cache';
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
    markCache(({ headers, hashes }) => {
      headers[0]!.description = 'from the cache';
      hashes[0] = 'of something older';
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
      for (const file of cacheFiles()) expect(readFileSync(file, 'utf8')).toContain('"description":"d"');
    },
  );

  it('ignores entries of the wrong shape', async () => {
    at.skill(`${SKILLS}/a`, 'description: d');
    await at.open();
    markCache((columns) => {
      (columns as { headers: unknown[] }).headers = ['x'];
      settle(columns);
    });
    expect((await at.open()).skills).toMatchObject([{ name: 'a', description: 'd' }]);
  });

  it.each<[string, unknown]>([
    ['files', 7],
    ['hashes', null],
    ['headers', { description: 'no name' }],
    ['headers', 7],
    ['extras', { diagnostics: 'x' }],
  ])('reads a file again whose entry in %s is %j, and that file alone', async (column, value) => {
    at.skill(`${SKILLS}/a`, 'description: one');
    at.skill(`${SKILLS}/b`, 'description: two');
    await at.open();
    markCache((columns) => {
      settle(columns);
      for (const header of columns.headers) if (header !== null) header.description = 'kept';
      (columns as unknown as Record<string, unknown[]>)[column]![0] = value;
    });
    const { skills } = await at.open();
    expect(skills.map(({ name, description }) => [name, description])).toEqual([
      ['a', 'one'],
      ['b', 'kept'],
    ]);
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
    expect(readFileSync(cache!, 'utf8').trimEnd().split('\n')).toHaveLength(3);
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
    markCache(({ files }) => expect(files).toHaveLength(10));
    for (let round = 0; round < 10; round++) {
      for (let index = 90; index < 100; index++) at.skill(`${SKILLS}/s${index}`, `description: in round ${round}`);
      expect((await at.open()).skills.map(({ description }) => description)).toEqual(
        Array(10).fill(`in round ${round}`),
      );
      const [cache] = cacheFiles();
      expect(readFileSync(cache!, 'utf8').split('\n').length).toBeLessThan(70);
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
    const lines = readFileSync(cache!, 'utf8').trimEnd().split('\n').slice(1);
    expect(lines.map((line) => (JSON.parse(line) as { file: string }).file)).toEqual(
      expect.arrayContaining(['b', '0'].map((name) => join(at.path, SKILLS, name, 'SKILL.md'))),
    );
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
