import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFolders } from './folders.ts';

let folders: TestFolders;
beforeEach(() => {
  folders = new TestFolders();
});
afterEach(() => folders.remove());

const SHIPPED = `# SCORPIOX CODE
PROVIDER=claude_code
MODEL=opus

TOOL_SEARCHSKILLS=1
SKILL_LIST_INCLUDE=release-*, deploy
SKILL_LIST_EXCLUDE=internal-*
SKILL_LIST_INCLUDE_FILE=lists/include.txt
SKILL_LIST_TOP_PERCENT=25
SKILL_LIST_STYLE=names
REQUIRED_SKILLS=1
REQUIRED_SKILLS_FORCED=0
REQUIRED_SKILLS_IN_SYSTEM_PROMPT=off
SYSTEM_PROMPT_SKILLS=house-rules, style
ADDITIONAL_SKILLS=~/packs/a, packs/b
SKILL_CREATE_COMMAND=0
SKILL_EDIT_SKILL=1
SESSION_RETENTION_DAYS=7
`;

describe('a repository set up for SCORPIOX', () => {
  test('works unchanged', async () => {
    const path = folders.write('project/.scorpiox/scorpiox-env.txt', SHIPPED);
    const { config, sources, notes } = await folders.load();
    expect(config.skills).toMatchObject({
      lazy: true,
      paths: [join(folders.home, 'packs', 'a'), join(folders.project, 'packs', 'b')],
      disabled_skills: ['create-command'],
      list: {
        include: ['release-*', 'deploy'],
        exclude: ['internal-*'],
        include_file: join(folders.project, 'lists', 'include.txt'),
        top_percent: 25,
        style: 'names',
      },
      required: { enabled: true, force: false, in_system_prompt: false, names: ['house-rules', 'style'] },
    });
    expect(sources.get('skills.lazy')).toEqual({
      value: true,
      tier: 'project',
      path,
      line: 5,
      name: 'TOOL_SEARCHSKILLS',
    });
    expect(notes).toEqual([
      { path, message: 'keys without a meaning here were ignored: PROVIDER, MODEL, SESSION_RETENTION_DAYS' },
    ]);
  });

  test('reads line ends, blanks and a byte-order mark as they come', async () => {
    folders.write(
      'project/.claude/scorpiox-env.txt',
      '\uFEFFTOOL_SEARCHSKILLS = on\r\n  # no\r\n\r\n REQUIRED_SKILLS=no ',
    );
    const { config } = await folders.load();
    expect(config.skills).toMatchObject({ lazy: true, required: { enabled: false } });
  });

  test('tiers: .scorpiox over .claude over the home folder, TOML of the same level over all of them', async () => {
    folders.write(
      'home/.claude/scorpiox-env.txt',
      'SKILL_LIST_TOP_PERCENT=1\nSKILL_LIST_STYLE=names\nTOOL_SEARCHSKILLS=1\n',
    );
    folders.write('project/.claude/scorpiox-env.txt', 'SKILL_LIST_TOP_PERCENT=2\nSKILL_LIST_INCLUDE=c*\n');
    folders.write('project/.scorpiox/scorpiox-env.txt', 'SKILL_LIST_TOP_PERCENT=3\n');
    let list = (await folders.load()).config.skills.list;
    expect(list).toMatchObject({ top_percent: 3, include: ['c*'], style: 'names' });
    folders.write('home/.reasonix/config.toml', '[skills]\nlist.top_percent = 9\nlist.style = "full"\n');
    list = (await folders.load()).config.skills.list;
    expect(list).toMatchObject({ top_percent: 3, style: 'full' });
    folders.write('project/.reasonix/config.toml', '[skills.list]\ntop_percent = 4\n');
    expect((await folders.load()).config.skills.list.top_percent).toBe(4);
  });

  test('an empty value is unset, in lazy mode too', async () => {
    folders.write('project/.scorpiox/scorpiox-env.txt', 'TOOL_SEARCHSKILLS=\n');
    expect((await folders.load()).config.skills.lazy).toBe(false);
  });

  test('a known key with a wrong value is an error, an almost known one a note', async () => {
    const path = folders.write(
      'project/.scorpiox/scorpiox-env.txt',
      '\nTOOL_SEARCHSKILLS=maybe\nSKILL_LIST_TOP_PERCENT=200\n',
    );
    const { message, code } = await folders.fault();
    expect(code).toBe('config');
    expect(message).toBe(
      `project file ${path}, line 2: TOOL_SEARCHSKILLS: expected true or false (also 1/0, on/off, yes/no), found "maybe"\n` +
        `project file ${path}, line 3: SKILL_LIST_TOP_PERCENT: expected a number from 0 to 100, found "200"`,
    );
    folders.write('project/.scorpiox/scorpiox-env.txt', 'TOOL_SEARCHSKILL=1\nwhat is this\n');
    expect((await folders.load()).notes).toEqual([
      { path, line: 1, message: 'TOOL_SEARCHSKILL is not known here; did you mean TOOL_SEARCHSKILLS?' },
      { path, line: 2, message: 'this line is no KEY=VALUE and was ignored' },
    ]);
  });

  test('SKILL_<NAME> is decided by the highest place, and joins what is disabled by name', async () => {
    folders.write('home/.claude/scorpiox-env.txt', 'SKILL_CREATE_SKILL=0\nSKILL_EDIT_SKILL=0\n');
    folders.write('project/.scorpiox/scorpiox-env.txt', 'SKILL_EDIT_SKILL=1\n');
    folders.write('project/reasonix.toml', '[skills]\ndisabled_skills = ["x"]\n');
    const { config } = await folders.load({ env: { SKILL_DIR: '/somewhere', SKILL_REVIEW: '0' } });
    expect(config.skills.disabled_skills.sort()).toEqual(['create-skill', 'review', 'x']);
  });
});

describe('SCORPIOX profiles', () => {
  test('overlay key by key; of two files of a name the project one is read whole', async () => {
    folders.write('home/.claude/scorpiox-env.txt', 'ACTIVE_PROFILE=big\nSKILL_LIST_STYLE=names\n');
    folders.write('home/.claude/scorpiox-env/big.txt', 'TOOL_SEARCHSKILLS=1\nSKILL_LIST_TOP_PERCENT=10\n');
    let loaded = await folders.load();
    expect(loaded.config).toMatchObject({
      profile: 'big',
      skills: { lazy: true, list: { top_percent: 10, style: 'names' } },
    });
    const path = folders.write('project/.scorpiox/scorpiox-env/big.txt', 'TOOL_SEARCHSKILLS=1\nACTIVE_PROFILE=big\n');
    loaded = await folders.load();
    expect(loaded.config.skills.list.top_percent).toBe(0);
    expect(loaded.sources.get('skills.lazy')).toMatchObject({ tier: 'profile', path });
    expect(loaded.files[0]).toEqual({ tier: 'profile', path });
  });

  test('a dangling ACTIVE_PROFILE is a note', async () => {
    folders.write('project/.scorpiox/scorpiox-env.txt', 'ACTIVE_PROFILE=gone\n');
    const { notes } = await folders.load();
    expect(notes).toHaveLength(1);
    expect(notes[0]?.message).toMatch(/line 1: there is no profile "gone"; there are none/);
  });
});
