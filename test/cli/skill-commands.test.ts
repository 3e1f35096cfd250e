import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { widthOf } from '../../src/cli/terminal.ts';
import { built, Workplace } from './workplace.ts';

interface ListedSkill {
  name: string;
  description: string;
  run_as: string;
  source: string;
  scope: string;
  path: string;
  invocation: string;
  shadows: { path: string }[];
  diagnostics: { code: string }[];
}

interface Listing {
  skills: ListedSkill[];
  total: number;
  listed: number;
  roots: { path: string; status: string; found: number }[];
  diagnostics: { code: string; path: string }[];
}

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.remove());

describe('skill list', () => {
  test('--json has the documented shape, shadows and diagnostics included', async () => {
    const mine = place.skill('tidy', 'description: Tidies up.\nrunAs: subagent');
    const users = join(place.reasonixHome, 'skills/tidy/SKILL.md');
    mkdirSync(join(users, '..'), { recursive: true });
    writeFileSync(users, '---\nname: tidy\ndescription: Another one.\n---\nBody\n');
    place.skill('secret', 'description: Only by hand.\ninvocation: manual');
    const listing = await place.json<Listing>(['skill', 'list', '--json']);
    expect(Object.keys(listing)).toEqual(['skills', 'total', 'listed', 'roots', 'diagnostics']);
    expect(listing.total).toBe(listing.skills.length);
    expect(listing.listed).toBe(listing.total - 1);
    const tidy = listing.skills.find(({ name }) => name === 'tidy');
    expect(tidy).toEqual({
      name: 'tidy',
      description: 'Tidies up.',
      run_as: 'subagent',
      source: 'Project Skill',
      scope: 'project',
      path: mine,
      invocation: 'auto',
      shadows: [{ path: users, scope: 'user' }],
      diagnostics: [],
    });
    expect(listing.skills.find(({ name }) => name === 'explore')).toMatchObject({ source: 'Built-in Skill', path: '' });
    expect(listing.roots.find(({ path }) => path === join(place.project, '.reasonix/skills'))).toMatchObject({
      status: 'ok',
      found: 2,
    });
  });

  test('says of every skill why models do not see it', async () => {
    place.skill('by-hand', 'description: Only by hand.\ninvocation: manual');
    place.skill('filtered', 'description: Left out.');
    const args = ['skill', 'list', '--explain', '-e', 'skills.list.exclude=filt*'];
    const { stdout, code } = await place.run(args);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^by-hand +not listed +invocation: manual$/m);
    expect(stdout).toMatch(/^filtered +not listed +.*exclude/m);
    expect(stdout).toMatch(/^explore +listed$/m);
    const lazy = await place.json<Listing>(['skill', 'list', '--json'], { env: { TOOL_SEARCHSKILLS: '1' } });
    expect(lazy.total - lazy.listed).toBe(2);
  });

  test('fits a narrow terminal and keeps control characters out', async () => {
    place.skill('evil', 'description: "before\\e[31mred\\u0007 and a text that goes on and on beyond the edge"');
    for (const columns of ['40', '50', '72']) {
      const { stdout } = await place.run(['skill', 'list'], { env: { COLUMNS: columns } });
      expect(stdout).toContain('evil');
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
      for (const line of stdout.split('\n')) expect(widthOf(line), line).toBeLessThanOrEqual(Number(columns));
    }
  });

  test('a pipe gets whole lines without colours; FORCE_COLOR and NO_COLOR decide otherwise', async () => {
    const long = `Starts ${'and goes on '.repeat(30)}to the end.`;
    place.skill('long', `description: ${long}`);
    const piped = await place.run(['skill', 'list']);
    expect(piped.stdout).toContain(long);
    expect(piped.stdout).not.toContain('\u001b');
    expect((await place.run(['skill', 'list'], { env: { FORCE_COLOR: '1' } })).stdout).toContain('\u001b[1m');
    for (const off of [
      { env: { FORCE_COLOR: '1', NO_COLOR: '1' } },
      { env: { FORCE_COLOR: '1' }, args: ['--no-color'] },
    ]) {
      const { stdout } = await place.run(['skill', 'list', ...(off.args ?? [])], { env: off.env });
      expect(stdout).not.toContain('\u001b');
    }
  });

  test('a root that is a file is a warning on stderr, and the rest is listed', async () => {
    const file = place.write('not-a-folder', 'x');
    const { code, stdout, stderr } = await place.run(['skill', 'list', '-e', `skills.paths=${file},./absent`]);
    expect(code).toBe(0);
    expect(stdout).toContain('explore');
    expect(stderr).toContain('not-a-folder is no folder');
    expect(stderr).toContain('absent does not exist');
  });
});

describe('skill show, search and paths', () => {
  test('show prints the body byte for byte, and --json everything that is known', async () => {
    place.skill(
      'tidy',
      'description: Tidies up.\nrunAs: subagent\nallowed-tools: Read, Bash(git *)\nmax-steps: 7',
      'Line <<arguments>>\n\n  indented',
    );
    const { stdout } = await place.run(['skill', 'show', 'tidy']);
    expect(stdout).toContain('\nLine <<arguments>>\n\n  indented\n');
    expect(stdout).toContain('7 steps');
    const shown = await place.json<Record<string, unknown>>(['skill', 'show', 'TIDY', '--json']);
    expect(shown).toMatchObject({
      name: 'tidy',
      run_as: 'subagent',
      allowed_tools: ['read_file', 'shell(git *)'],
      limits: { maxSteps: 7 },
      body: 'Line <<arguments>>\n\n  indented\n',
    });
  });

  test('an unknown skill names the nearest ones', async () => {
    const { code, stderr } = await place.run(['skill', 'show', 'exploer']);
    expect(code).toBe(2);
    expect(stderr).toContain('there is no skill "exploer"; nearest: explore');
    const json = await place.run(['skill', 'show', 'exploer', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      code: 'skill_not_found',
      error: expect.stringContaining('exploer'),
    });
  });

  test('search finds what the tool finds, by words and by pattern', async () => {
    place.skill('tidy', 'description: Sorts the imports of a file.');
    const words = await place.json<{ skills: { name: string }[]; matched: number }>([
      'skill',
      'search',
      'imports',
      'sorts',
      '--json',
    ]);
    expect(words.skills.map(({ name }) => name)).toEqual(['tidy']);
    const pattern = await place.json<{ matched: number }>(['skill', 'search', '-E', '^Sorts.*file\\.$', '--json']);
    expect(pattern.matched).toBe(1);
    expect(
      (await place.json<{ matched: number; total: number }>(['skill', 'search', '--json'])).matched,
    ).toBeGreaterThan(7);
  });

  test('paths shows every folder and its state', async () => {
    const { stdout } = await place.run(['skill', 'paths']);
    expect(stdout).toMatch(/^project +missing +\S*\/project\/\.reasonix\/skills$/m);
    expect(stdout).toMatch(/^built-in +ok +\d+ /m);
  });
});

describe('skill new, enable and disable', () => {
  test('new writes a skill that is listed at once, and never over another', async () => {
    const { code, stdout } = await place.run([
      'skill',
      'new',
      'fresh',
      '--run-as',
      'subagent',
      '--description',
      'Does: "it" #now.',
    ]);
    expect(code).toBe(0);
    const path = join(place.project, '.reasonix/skills/fresh/SKILL.md');
    expect(stdout).toBe(`${path}\n`);
    const shown = await place.json<ListedSkill>(['skill', 'show', 'fresh', '--json']);
    expect(shown).toMatchObject({ description: 'Does: "it" #now.', run_as: 'subagent', diagnostics: [] });
    const before = readFileSync(path, 'utf8');
    const again = await place.run(['skill', 'new', 'fresh']);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('exists already');
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  test.each(['../up', 'a b', '', 'x/y'])('new refuses the name %j', async (name) => {
    expect(await place.run(['skill', 'new', name])).toMatchObject({ code: 2, stdout: '' });
  });

  test('new writes for the user where the user keeps skills', async () => {
    const { stdout } = await place.run(['skill', 'new', 'mine', '--scope', 'user']);
    expect(stdout.trim()).toBe(join(place.reasonixHome, 'skills/mine/SKILL.md'));
  });

  test('disable hides a skill and enable brings it back', async () => {
    expect(await place.run(['skill', 'disable', 'review'])).toMatchObject({ code: 0 });
    const names = async () => (await place.json<Listing>(['skill', 'list', '--json'])).skills.map(({ name }) => name);
    expect(await names()).not.toContain('review');
    const run = await place.run(['run', '/review x']);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('reasonix skill enable review');
    expect(await place.run(['skill', 'enable', 'review'])).toMatchObject({ code: 0 });
    expect(await names()).toContain('review');
  });
});
