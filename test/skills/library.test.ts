import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import { codesOf, namesOf, SkillFolder } from './folder.ts';

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const SKILLS = 'project/.reasonix/skills';

describe('collisions', () => {
  it.each([[['a', 'b']], [['b', 'a']]])('C01 does not depend on the order of creation: %j', async (created) => {
    for (const folder of created) at.skill(`${SKILLS}/${folder}`, `name: deploy\ndescription: from ${folder}`);
    const library = await at.open();
    expect(library.skills).toMatchObject([
      {
        name: 'deploy',
        description: 'from a',
        shadows: [{ path: join(at.path, SKILLS, 'b/SKILL.md'), scope: 'project' }],
      },
    ]);
    expect(codesOf(library.diagnostics)).toContain('name-collision');
  });

  it('C01 collapses identical files without a word', async () => {
    at.skill(`${SKILLS}/deploy`, 'name: deploy\ndescription: d');
    at.skill('home/.agents/skills/deploy', 'name: deploy\ndescription: d');
    const library = await at.open();
    expect(library.skills).toMatchObject([{ name: 'deploy', shadows: [] }]);
    expect(library.diagnostics).toEqual([]);
    expect(library.collapsed).toHaveLength(1);
  });

  it('prefers the skill nearer to the root', async () => {
    at.skill(`${SKILLS}/a/deep`, 'name: x\ndescription: deep');
    at.skill(`${SKILLS}/z`, 'name: x\ndescription: shallow');
    expect((await at.open()).skills[0]?.description).toBe('shallow');
  });

  it('sorts by code point', async () => {
    for (const name of ['b', 'B', 'a', 'ä', '\u{10000}x', '\uFF41', '中'])
      at.skill(`${SKILLS}/${name}`, 'description: d');
    expect(namesOf(await at.open())).toEqual(['B', 'a', 'b', 'ä', '中', '\uFF41', '\u{10000}x']);
  });
});

describe('find', () => {
  beforeEach(() => {
    for (const name of ['deploy', 'Review', 'research', 'Hook Development'])
      at.skill(`${SKILLS}/${name}`, 'description: d');
  });

  it('looks up exactly, then by a unique match without case', async () => {
    at.skill(`${SKILLS}/x1`, 'name: Twin\ndescription: d');
    at.skill(`${SKILLS}/x2`, 'name: TWIN\ndescription: d');
    const library = await at.open();
    expect(library.find('deploy')).toMatchObject({ status: 'found', skill: { name: 'deploy' } });
    expect(library.find('REVIEW')).toMatchObject({ status: 'found', skill: { name: 'Review' } });
    expect(library.find('Twin')).toMatchObject({ status: 'found', skill: { name: 'Twin' } });
    expect(library.find('Hook Development')).toMatchObject({ status: 'found' });
    expect(library.find('twin')).toEqual({ status: 'ambiguous', names: ['TWIN', 'Twin'] });
  });

  it('names the nearest of an unknown name', async () => {
    const library = await at.open();
    expect(library.find('reserach')).toMatchObject({
      status: 'unknown',
      total: 4,
      nearest: ['research', expect.any(String), expect.any(String)],
    });
  });

  it.each([
    '../../etc/passwd',
    '/etc/hostname',
    'C:\\x',
    'deploy/../deploy',
    'a\0b',
    '.',
    '',
    '..%2f',
    'deploy/SKILL.md',
    '__proto__',
  ])('G01 knows nothing of %j', async (name) => {
    expect((await at.open()).find(name)).toMatchObject({ status: 'unknown', total: 4 });
  });

  it('B08 answers "disabled" for a disabled name, and lists it nowhere else', async () => {
    at.skill('home/.agents/skills/deploy', 'description: of the user');
    const library = await at.open({ disabledSkills: ['deploy', 'review', 'nosuch'] });
    expect(namesOf(library)).toEqual(['Hook Development', 'research']);
    expect(library.disabled.map(({ name }) => name)).toEqual(['Review', 'deploy']);
    expect(library.find('deploy')).toEqual({ status: 'disabled', name: 'deploy' });
    expect(library.find('DEPLOY')).toEqual({ status: 'disabled', name: 'deploy' });
    expect(library.find('deplox')).toMatchObject({ nearest: expect.not.arrayContaining(['deploy']) });
    expect(codesOf(library.diagnostics)).toContain('disabled-unknown');
    expect(library.fingerprint).not.toBe((await at.open()).fingerprint);
  });
});

describe('load and refresh', () => {
  it('B09 reads the body now, notices edits of the same size at once, and says when a skill is gone', async () => {
    const file = at.skill(`${SKILLS}/a`, 'description: d', 'first\n');
    at.skill(`${SKILLS}/b`, 'description: d');
    const library = await at.open();
    const { fingerprint, skills } = library;
    const a = skills[0]!;
    expect((await library.load(a)).text).toBe('first\n');
    expect(await library.refresh()).toEqual({ added: [], removed: [], changed: [] });
    expect(library.fingerprint).toBe(fingerprint);

    writeFileSync(file, '---\ndescription: d\n---\nother\n');
    expect((await library.load(a)).text).toBe('other\n');
    expect(await library.refresh()).toEqual({ added: [], removed: [], changed: ['a'] });
    expect(library.fingerprint).not.toBe(fingerprint);

    writeFileSync(file, '---\ndescription: e\n---\nother\n');
    expect(await library.refresh()).toEqual({ added: [], removed: [], changed: ['a'] });
    expect(library.skills[0]!.description).toBe('e');

    at.skill(`${SKILLS}/c`, 'description: d');
    rmSync(join(at.path, SKILLS, 'a'), { recursive: true });
    await expect(library.load(a)).rejects.toSatisfy(
      (error) => ReasonixError.isInstance(error, 'skill_not_found') && /no longer exists/.test(error.message),
    );
    expect(await library.refresh()).toEqual({ added: ['c'], removed: ['a'], changed: [] });
    expect(namesOf(library)).toEqual(['b', 'c']);
  });

  it('gives bodies byte for byte, with their hash', async () => {
    const body = '\r\n# T\r\n---\n\n  x \u0000 🎯\n\n';
    at.skill(`${SKILLS}/a`, 'description: d', body);
    const library = await at.open();
    const loaded = await library.load(library.skills[0]!);
    expect(loaded.text).toBe(body);
    expect(loaded.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('tells many who ask at once the same, with one look', async () => {
    at.skill(`${SKILLS}/a`, 'description: d');
    const library = await at.open();
    at.skill(`${SKILLS}/b`, 'description: d');
    const before = library.refresh();
    const asked = Array.from({ length: 50 }, () => library.refresh().then(() => namesOf(library)));
    at.skill(`${SKILLS}/c`, 'description: d');
    const last = library.refresh();
    expect((await before).added).toEqual(['b', 'c']);
    for (const names of await Promise.all(asked)) expect(names).toEqual(['a', 'b', 'c']);
    expect((await last).added).toEqual([]);
  });

  it('answers looks at the disk in their order', async () => {
    const library = await at.open();
    const first = library.refresh();
    at.skill(`${SKILLS}/a`, 'description: d');
    const second = library.refresh();
    const added = [...(await first).added, ...(await second).added];
    expect(added).toEqual(['a']);
    expect(namesOf(library)).toEqual(['a']);
  });
});
