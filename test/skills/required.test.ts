import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type RequiredOptions, readRequired } from '../../src/skills/required.ts';
import { SkillFolder } from './folder.ts';
import { madeLibrary, madeSkill } from './made.ts';

const library = madeLibrary(
  ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => madeSkill({ name, disableModelInvocation: name === 'h' })),
  {},
  [madeSkill({ name: 'off' })],
);

const optionsIn = (folder: SkillFolder, more: Partial<RequiredOptions> = {}): RequiredOptions => ({
  cwd: folder.project,
  home: folder.home,
  reasonixHome: join(folder.home, '.reasonix'),
  session: 's_1',
  configured: [],
  ...more,
});

describe('required skills', () => {
  it('are the union of all levels, each with file and line', async () => {
    using folder = new SkillFolder();
    const file = (path: string, content: string) => folder.write(path, content);
    const user = file('home/.claude/required_skills.txt', '# mine\n\na   # why\n');
    const own = file('home/.reasonix/required_skills.txt', 'b\na\n');
    const claude = file('project/.claude/required_skills.txt', '\ufeffc\r\n\r\n# x\r\nb\r\n');
    const reasonix = file('project/.reasonix/required_skills.txt', 'd');
    const scorpiox = file('project/.scorpiox/required_skills.txt', 'e\rc\r');
    const session = file('project/.scorpiox/sessions/s_1/required_skills.txt', 'f\n');
    const ours = file('home/.reasonix/sessions/s_1/required_skills.txt', 'g\n');
    file('project/.scorpiox/sessions/s_2/required_skills.txt', 'h\n');
    const { required, waived, unresolved } = await readRequired(optionsIn(folder, { configured: ['h', 'a'] }), library);
    expect(required).toEqual([
      { name: 'a', from: `${user}:3` },
      { name: 'b', from: `${own}:1` },
      { name: 'c', from: `${claude}:1` },
      { name: 'd', from: `${reasonix}:1` },
      { name: 'e', from: `${scorpiox}:1` },
      { name: 'f', from: `${session}:1` },
      { name: 'g', from: `${ours}:1` },
      { name: 'h', from: 'skills.required.names' },
    ]);
    expect([waived, unresolved]).toEqual([[], []]);
  });

  it('of the repository hold in its folders', async () => {
    using folder = new SkillFolder();
    const root = folder.write('project/.claude/required_skills.txt', 'a\n');
    const inner = folder.write('project/packages/x/.reasonix/required_skills.txt', 'b\n');
    folder.write('.claude/required_skills.txt', 'c\n');
    const { required } = await readRequired(optionsIn(folder, { cwd: join(folder.project, 'packages/x') }), library);
    expect(required).toEqual([
      { name: 'a', from: `${root}:1` },
      { name: 'b', from: `${inner}:1` },
    ]);
  });

  it('are waived by !name on any level, and by disabling', async () => {
    using folder = new SkillFolder();
    const user = folder.write('home/.claude/required_skills.txt', 'a\nb\noff\n');
    const project = folder.write('project/.reasonix/required_skills.txt', '! a\n');
    const { required, waived } = await readRequired(optionsIn(folder, { configured: ['!b', '!c'] }), library);
    expect(required).toEqual([]);
    expect(waived).toEqual([
      { name: 'a', from: `${user}:1`, by: `${project}:1` },
      { name: 'b', from: `${user}:2`, by: 'skills.required.names' },
      { name: 'off', from: `${user}:3`, by: 'disabled' },
    ]);
  });

  it('F35 that do not exist are unresolved once, hidden ones count, duplicates do not', async () => {
    using folder = new SkillFolder();
    const file = folder.write('project/.claude/required_skills.txt', 'a\nh\nnosuch\nA\nnosuch\n');
    const { required, unresolved } = await readRequired(optionsIn(folder, { own: ['nosuch', 'a'] }), library);
    expect(required.map(({ name }) => name)).toEqual(['a', 'h']);
    expect(unresolved).toEqual([{ name: 'nosuch', from: `${file}:3`, at: { path: file, line: 3 } }]);
  });

  it('of a child are its own', async () => {
    using folder = new SkillFolder();
    folder.write('project/.claude/required_skills.txt', 'a\n');
    const { required } = await readRequired(
      optionsIn(folder, { configured: ['b'], own: ['c'], onlyOwn: true }),
      library,
    );
    expect(required).toEqual([{ name: 'c', from: 'required' }]);
  });

  it('whose file cannot be read are a diagnostic, not an error', async () => {
    using folder = new SkillFolder();
    mkdirSync(join(folder.project, '.claude/required_skills.txt'), { recursive: true });
    folder.write('project/.reasonix', 'a file where a folder is looked for');
    const { required, diagnostics } = await readRequired(optionsIn(folder), library);
    expect(required).toEqual([]);
    expect(diagnostics).toMatchObject([
      { code: 'required-unreadable', path: join(folder.project, '.claude/required_skills.txt') },
    ]);
  });

  it('of a session never leave the folder of sessions', async () => {
    using folder = new SkillFolder();
    folder.write('project/.scorpiox/required_skills.txt', '');
    folder.write('project/x/required_skills.txt', 'a\n');
    const { required } = await readRequired(optionsIn(folder, { session: '../../x' }), library);
    expect(required).toEqual([]);
  });
});
