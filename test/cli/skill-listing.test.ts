import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { built, Workplace } from './workplace.ts';

interface Explained {
  skills: {
    name: string;
    source: string;
    listed: boolean;
    reason: string | null;
    shadows: { path: string }[];
  }[];
  disabled: { name: string; reason: string; path: string }[];
  total: number;
  listed: number;
}

const SCRIPT = 'rules: [{ name: any, text: "done" }]\n';

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace(SCRIPT);
  for (const name of ['deploy', 'release-notes', 'internal-audit']) place.skill(name, `description: About ${name}.`);
});
afterEach(() => place.remove());

const user = (path: string, text: string): string => {
  const file = join(place.home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};

type Env = Record<string, string | undefined>;
const explain = (env: Env = {}, ...more: string[]) =>
  place.json<Explained>(['skill', 'list', '--explain', '--json', ...more], { env });

/** Names of our three that are listed, and why the others are not. */
async function outcome(env: Env = {}, ...more: string[]): Promise<Record<string, string | null>> {
  const { skills } = await explain(env, ...more);
  const ours = skills.filter(({ name }) => ['deploy', 'release-notes', 'internal-audit'].includes(name));
  return Object.fromEntries(ours.map(({ name, reason }) => [name, reason]));
}

const ALL = { deploy: null, 'internal-audit': null, 'release-notes': null };

describe('skill list --explain', { timeout: 120_000 }, () => {
  test('says of every file that was found what became of it', async () => {
    const winner = place.skill('by-hand', 'description: A.\ninvocation: manual');
    const loser = user('.reasonix/skills/by-hand/SKILL.md', '---\ndescription: B.\n---\nOther\n');
    place.skill('users-only', 'description: A.\ndisable-model-invocation: true');
    place.skill('off', 'description: A.');
    symlinkSync(join(place.project, '.reasonix/skills/deploy'), join(place.project, '.reasonix/skills/linked'));
    const set = ['-e', 'skills.disabled_skills=off', '-e', 'skills.list.exclude=internal-*'];
    const { stdout, code } = await place.run(['skill', 'list', '--explain', ...set]);
    expect(code).toBe(0);
    const short = (path: string) => path.replace(place.home, '~').replaceAll('.', '\\.');
    for (const line of [
      'by-hand +not listed +invocation: manual',
      ` +shadowed +${short(loser)}: ${short(winner)} comes first`,
      'deploy +listed',
      ' +same file +.*/linked/SKILL\\.md: the same as .*/deploy/SKILL\\.md',
      'explore +listed',
      'internal-audit +not listed +skills\\.list\\.exclude has "internal-\\*"',
      'off +disabled +skills\\.disabled_skills names it',
      'release-notes +listed',
      'users-only +not listed +disable-model-invocation: only a user starts it',
    ]) {
      expect(stdout).toMatch(new RegExp(`^${line}$`, 'm'));
    }
    const json = await explain({}, ...set);
    expect(json.disabled).toMatchObject([{ name: 'off', reason: 'skills.disabled_skills names it' }]);
    expect(json.skills.filter(({ listed }) => listed)).toHaveLength(json.listed);
    expect(json.skills.filter(({ reason }) => reason === null)).toHaveLength(json.listed);
    expect(json.skills).toHaveLength(json.total);
    expect(json.skills.find(({ name }) => name === 'by-hand')?.shadows).toMatchObject([{ path: loser }]);
  });

  test('names the room and the use that a skill lost to', async () => {
    expect(await outcome({}, '-e', 'skills.list.max_bytes=40')).toMatchObject({
      deploy: 'the list is full (skills.list.max_bytes = 40)',
    });
    for (const _ of [1, 2]) await place.run(['run', '/deploy now']);
    expect(await outcome({ SKILL_LIST_TOP_PERCENT: '10' })).toEqual({
      deploy: null,
      'internal-audit': expect.stringMatching(
        /^place \d+ of 10 by use \(0 sessions\), skills\.list\.top_percent is 10$/,
      ),
      'release-notes': expect.stringContaining('by use'),
    });
  });
});

describe('names of the environment', { timeout: 120_000 }, () => {
  test('SKILL_LIST_INCLUDE, _EXCLUDE and their files', async () => {
    expect(await outcome()).toEqual(ALL);
    expect(await outcome({ SKILL_LIST_INCLUDE: 'release-*, deploy' })).toEqual({
      ...ALL,
      'internal-audit': 'no pattern of skills.list.include matches',
    });
    expect(await outcome({ SKILL_LIST_EXCLUDE: 'internal-*' })).toMatchObject({
      deploy: null,
      'internal-audit': 'skills.list.exclude has "internal-*"',
    });
    const include = place.write('lists/include.txt', '# ours\nrelease-*  # notes\n');
    const exclude = place.write('lists/exclude.txt', 'deploy\n');
    expect(await outcome({ SKILL_LIST_INCLUDE_FILE: include })).toMatchObject({
      'release-notes': null,
      deploy: expect.stringContaining('include'),
    });
    expect(await outcome({ SKILL_LIST_EXCLUDE_FILE: 'lists/exclude.txt' })).toMatchObject({
      'release-notes': null,
      deploy: 'skills.list.exclude has "deploy"',
    });
    rmSync(exclude);
    const missing = await place.run(['skill', 'list'], { env: { SKILL_LIST_EXCLUDE_FILE: exclude } });
    expect(missing).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('exclude.txt cannot be read'),
    });
    const wrong = await place.run(['skill', 'list'], { env: { SKILL_LIST_TOP_PERCENT: '101' } });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('SKILL_LIST_TOP_PERCENT') });
  });

  test('TOOL_SEARCHSKILLS lists built-ins alone, ADDITIONAL_SKILLS brings a folder along', async () => {
    expect(await outcome({ TOOL_SEARCHSKILLS: '1' })).toMatchObject({ deploy: 'lazy mode lists built-ins only' });
    user('packs/extra/SKILL.md', '---\ndescription: From a pack.\n---\nBody\n');
    const { skills } = await explain({ ADDITIONAL_SKILLS: '~/packs' });
    expect(skills.find(({ name }) => name === 'extra')).toMatchObject({ source: 'Custom Skill', listed: true });
  });

  test('SKILL_LIST_STYLE reaches what a model is shown, and so do the filters', async () => {
    const shown = async (env: Env) => {
      const { session } = await place.json<{ session: string }>(['run', 'hi', '--output', 'json'], { env });
      const exported = await place.run(['session', 'export', session, '--format', 'jsonl']);
      const [started] = exported.stdout
        .split('\n')
        .map((line) => JSON.parse(line || '{}') as { tools?: { name: string; description: string }[] });
      return started?.tools?.find(({ name }) => name === 'run_skill')?.description ?? '';
    };
    const full = await shown({});
    expect(full).toContain('\n- deploy: About deploy.\n');
    const names = await shown({ SKILL_LIST_STYLE: 'names', SKILL_LIST_EXCLUDE: 'internal-*' });
    expect(names).toContain('\n- deploy\n');
    expect(names).not.toContain('About deploy');
    expect(names).not.toContain('- internal-audit');
  });

  test('REQUIRED_SKILLS, _FORCED and _IN_SYSTEM_PROMPT', async () => {
    place.write('.reasonix/required_skills.txt', 'deploy\n');
    const required = async (env: Env = {}) => {
      const result = await place.json<{ required: object }>(['run', 'hi', '--output', 'json'], { env });
      return result.required;
    };
    const injected = { names: ['deploy'], loaded: ['deploy'], injected: ['deploy'] };
    expect(await required()).toEqual({ ...injected, nudges: 3 });
    expect(await required({ REQUIRED_SKILLS: '0' })).toMatchObject({ loaded: [], nudges: 0, injected: [] });
    expect(await required({ REQUIRED_SKILLS_FORCED: '1' })).toEqual({ ...injected, nudges: 0 });
    expect(await required({ REQUIRED_SKILLS_IN_SYSTEM_PROMPT: 'on' })).toEqual({
      ...injected,
      nudges: 0,
      injected: [],
    });
    expect(await outcome({ SKILL_LIST_EXCLUDE: '*' })).toMatchObject({
      deploy: null,
      'release-notes': expect.any(String),
    });
    expect(await outcome({ SKILL_LIST_EXCLUDE: '*', REQUIRED_SKILLS: '0' })).toMatchObject({
      deploy: expect.any(String),
    });
  });
});

describe('files of SCORPIOX', { timeout: 120_000 }, () => {
  const lazy = async (env: Env = {}, ...more: string[]) => (await outcome(env, ...more)).deploy !== null;

  test('each tier is read, the stronger one wins, the environment wins over all', async () => {
    expect(await lazy()).toBe(false);
    user('.claude/scorpiox-env.txt', 'PROVIDER=claude_code\nTOOL_SEARCHSKILLS=1\n');
    expect(await lazy()).toBe(true);
    place.write('.claude/scorpiox-env.txt', 'TOOL_SEARCHSKILLS=0\n');
    expect(await lazy()).toBe(false);
    place.write('.scorpiox/scorpiox-env.txt', 'TOOL_SEARCHSKILLS=1\n');
    expect(await lazy()).toBe(true);
    expect(await lazy({ TOOL_SEARCHSKILLS: '0' })).toBe(false);
    expect(await lazy({ TOOL_SEARCHSKILLS: '0' }, '-e', 'TOOL_SEARCHSKILLS=1')).toBe(true);
  });

  test('a profile lies over the files', async () => {
    place.write('.scorpiox/scorpiox-env.txt', 'SKILL_LIST_EXCLUDE=deploy\n');
    place.write('.scorpiox/scorpiox-env/audit.txt', 'SKILL_LIST_EXCLUDE=internal-*\n');
    expect(await outcome()).toMatchObject({ deploy: expect.any(String), 'internal-audit': null });
    expect(await outcome({}, '--profile', 'audit')).toMatchObject({
      deploy: null,
      'internal-audit': expect.any(String),
    });
    expect(await outcome({}, '--profile', 'off')).toMatchObject({ deploy: expect.any(String) });
  });
});

describe('skill list, required skills', { timeout: 60_000 }, () => {
  test('names once, with file and line, what is required and is no skill', async () => {
    const file = join(place.project, '.claude/required_skills.txt');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '# ours\ndeploy\nrelease-note\n');
    user('.reasonix/required_skills.txt', 'release-note\nwaived-one\n!waived-one\n');
    const unreadable = join(place.project, '.scorpiox/required_skills.txt');
    mkdirSync(unreadable, { recursive: true });
    const set = ['-e', 'skills.required.names=nowhere-at-all'];
    const { stderr, code } = await place.run(['skill', 'list', ...set]);
    expect(code).toBe(0);
    const lines = stderr.split('\n').filter((line) => /required/.test(line));
    expect(lines).toEqual([
      expect.stringMatching(/^warning \S*\.scorpiox\/required_skills\.txt: .*this is none/),
      expect.stringMatching(
        /^warning ~\/\.reasonix\/required_skills\.txt:1: there is no skill "release-note".*nearest: release-notes/,
      ),
      expect.stringMatching(/^warning: skills\.required\.names: there is no skill "nowhere-at-all"/),
    ]);
    const { diagnostics } = await place.json<{ diagnostics: { code: string; line?: number; skill?: string }[] }>([
      'skill',
      'list',
      '--json',
      ...set,
    ]);
    expect(diagnostics.filter(({ code }) => code === 'required-unresolved')).toMatchObject([
      { line: 1, skill: 'release-note' },
      { path: '', skill: 'nowhere-at-all' },
    ]);
    const off = await place.run(['skill', 'list', ...set, '-e', 'skills.required.enabled=off']);
    expect(off.stderr).not.toMatch(/required/);
  });
});
