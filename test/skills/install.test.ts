import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applyInstall, isPending, planUpdate } from '../../src/skills/install/install.ts';
import { verifyInstalled } from '../../src/skills/install/verify.ts';
import { namesOf } from './folder.ts';
import { skillText } from './install-archives.ts';
import { InstallFolder } from './install-place.ts';

let folder: InstallFolder;
beforeEach(() => {
  folder = new InstallFolder();
});
afterEach(() => folder[Symbol.dispose]());

/** A collection as they are published: one skill at its top, others below. */
function collection(at = 'src'): void {
  folder.write(`${at}/SKILL.md`, skillText('whole', 'allowed-tools: Read, Bash(git *)\nread-only: true'));
  folder.write(`${at}/helper.txt`, 'of the whole');
  folder.write(`${at}/skills/a/SKILL.md`, skillText('a'));
  folder.write(`${at}/skills/a/scripts/run.sh`, '#!/bin/sh\necho a\n');
  chmodSync(join(folder.path, at, 'skills/a/scripts/run.sh'), 0o755);
  folder.write(`${at}/skills/a/references/demo/SKILL.md`, skillText('demo'));
  folder.write(`${at}/skills/group/b/SKILL.md`, skillText('b'));
}

const names = (plan: { skills: { name: string }[] }): string[] => plan.skills.map(({ name }) => name);
const signal = new AbortController().signal;

describe('a folder', () => {
  test('B05: gives the skill at its top and all below, each with its own files', async () => {
    collection();
    const plan = await folder.plan('./src');
    expect(folder.installed()).toEqual([]);
    expect(names(plan)).toEqual(['a', 'b', 'whole']);
    await applyInstall(plan, signal);
    expect(folder.installed()).toEqual([
      'skills.lock',
      'skills/a/SKILL.md',
      'skills/a/references/demo/SKILL.md',
      'skills/a/scripts/run.sh',
      'skills/b/SKILL.md',
      'skills/whole/SKILL.md',
      'skills/whole/helper.txt',
    ]);
    expect(folder.isExecutable('skills/a/scripts/run.sh')).toBe(true);
    expect(folder.isExecutable('skills/a/SKILL.md')).toBe(false);
    expect(folder.read('skills/b/SKILL.md')).toBe(skillText('b'));
  });

  test('is chosen from by name, by another case of it, or by place', async () => {
    collection();
    expect(names(await folder.plan('./src', { skills: ['A', 'skills/group/b'] }))).toEqual(['a', 'b']);
    const { others } = await folder.plan('./src', { skills: ['a'] });
    expect(others).toEqual(['b', 'whole']);
    await expect(folder.plan('./src', { skills: ['c'] })).rejects.toMatchObject({ code: 'skill_not_found' });
  });

  test('shows what each may do, its scripts and what cannot be seen, decoded (G05)', async () => {
    collection();
    const hidden = [...'run rm'].map((sign) => String.fromCodePoint(0xe0000 + sign.charCodeAt(0))).join('');
    folder.write('src/skills/a/SKILL.md', skillText('a', '', `Formats JSON.${hidden}\n<!-- do X -->\n`));
    folder.write('src/skills/a/notes.txt', 'abc\u202edef\n');
    const { skills } = await folder.plan('./src');
    expect(skills[2]!.grant).toMatchObject({ tools: ['read_file', 'shell(git *)'], read_only: true });
    expect(skills[0]!.grant).toMatchObject({ tools: null, read_only: false });
    expect(skills[0]!.scripts).toEqual(['scripts/run.sh']);
    const warnings = skills[0]!.warnings.map(({ path, line, message }) => `${path}:${line} ${message}`);
    expect(warnings.find((each) => each.includes('"run rm"'))).toMatch(/^SKILL\.md:5 /);
    expect(warnings.find((each) => each.includes('do X'))).toBeDefined();
    expect(warnings.find((each) => each.startsWith('notes.txt:1'))).toMatch(/U\+202E/);
  });

  test('with plugins, agents and hidden folders of other products is understood', async () => {
    folder.write('src/.claude-plugin/plugin.json', '{"name": "kit"}');
    folder.write('src/skills/one/SKILL.md', skillText('one'));
    folder.write('src/agents/helper.md', '---\nname: helper\ndescription: Helps.\ntools: Read\n---\nHelp.\n');
    folder.write('src/.claude/skills/two/SKILL.md', skillText('two'));
    folder.write('src/docs/page.md', '---\ndescription: A page of documentation.\n---\nText\n');
    folder.write('src/README.md', '# Kit\n');
    const plan = await folder.install('./src');
    expect(plan.skills.map(({ name, path }) => [name, path])).toEqual([
      ['helper', 'agents/helper.md'],
      ['one', 'skills/one'],
      ['two', 'skills/two'],
    ]);
    expect(plan.skills[0]!.grant.run_as).toBe('subagent');
    const library = await folder.open();
    expect(namesOf(library)).toEqual(['helper', 'one', 'two']);
    expect(library.skills[0]).toMatchObject({ runAs: 'subagent', invocation: 'manual', layout: 'agent' });
    expect(await verifyInstalled(folder.place)).toMatchObject([{ status: 'ok' }, { status: 'ok' }, { status: 'ok' }]);
  });

  test('with a marketplace gives the skills of its plugins, one of them by its full name', async () => {
    const plugins = [
      { name: 'docs', source: './', skills: ['./skills/pdf'] },
      { name: 'kit', source: './plugins/kit' },
      { name: 'more', source: './plugins/more' },
      { name: 'away', source: { source: 'github', repo: 'somebody/away' } },
    ];
    folder.write('src/.claude-plugin/marketplace.json', JSON.stringify({ name: 'm', plugins }));
    folder.write('src/skills/pdf/SKILL.md', skillText('pdf'));
    folder.write('src/plugins/kit/skills/build/SKILL.md', skillText('build', '', 'Of kit.\n'));
    folder.write('src/plugins/kit/agents/helper.md', '---\nname: helper\ndescription: Helps.\n---\nHelp.\n');
    folder.write('src/plugins/more/skills/build/SKILL.md', skillText('build', '', 'Of more.\n'));
    const plan = await folder.plan('./src');
    expect(plan.skills.map(({ name, path, entry }) => [name, path, entry.from])).toEqual([
      ['build', 'skills/build', 'plugins/kit/skills/build'],
      ['helper', 'agents/helper.md', 'plugins/kit/agents/helper.md'],
      ['pdf', 'skills/pdf', 'skills/pdf'],
    ]);
    expect(plan.notes.join('\n')).toContain('plugins/more/skills/build left out');
    expect(plan.notes.join('\n')).toContain('away (somebody/away)');
    const chosen = await folder.plan('./src', { skills: ['more:build'] });
    expect(chosen.skills.map(({ entry }) => entry.from)).toEqual(['plugins/more/skills/build']);
  });

  test('with a name that no folder may have is installed under its own folder, and found by its name', async () => {
    folder.write('src/my-skill/SKILL.md', skillText('My Skill'));
    const plan = await folder.install('./src');
    expect(plan.skills).toMatchObject([{ name: 'My Skill', path: 'skills/my-skill' }]);
    expect(namesOf(await folder.open())).toEqual(['My Skill']);
  });

  test('with two skills of one name gives the one nearest to its top, or the one that is chosen by its place', async () => {
    folder.write('src/x/y/a/SKILL.md', skillText('a', '', 'Deep.\n'));
    folder.write('src/z/a/SKILL.md', skillText('A'));
    const plan = await folder.plan('./src');
    expect(plan.skills.map(({ name, entry }) => [name, entry.from])).toEqual([['A', 'z/a']]);
    expect(plan.notes).toEqual([expect.stringContaining('x/y/a left out')]);
    expect(names(await folder.plan('./src', { skills: ['x/y/a'] }))).toEqual(['a']);
    await expect(folder.plan('./src', { skills: ['x/y/a', 'z/a'] })).rejects.toThrow(/would be one folder/);
  });

  test('with skills in hidden folders gives them too', async () => {
    folder.write('src/skills/.curated/one/SKILL.md', skillText('one'));
    folder.write('src/.github/skills/two/SKILL.md', skillText('two'));
    folder.write('src/.git/three/SKILL.md', skillText('three'));
    expect(names(await folder.plan('./src'))).toEqual(['one', 'two']);
  });

  test('without skills is an error that says what one is', async () => {
    folder.write('src/README.md', '# Nothing\n');
    await expect(folder.plan('./src')).rejects.toMatchObject({
      code: 'skill_not_found',
      hint: expect.stringContaining('SKILL.md'),
    });
  });

  test('is seen by an open library at once', async () => {
    collection();
    const library = await folder.open();
    await folder.install('./src', { skills: ['a'] });
    expect(await library.refresh()).toEqual({ added: ['a'], removed: [], changed: [] });
  });
});

describe('what is there already', () => {
  test('and was not installed is kept, unless it is forced away', async () => {
    collection();
    folder.skill('project/.reasonix/skills/a', 'name: a\ndescription: Mine.');
    await expect(folder.install('./src')).rejects.toThrow(/was not installed/);
    expect(folder.installed()).toEqual(['skills/a/SKILL.md']);
    const plan = await folder.install('./src', { skills: ['a'], force: true });
    expect(plan.skills[0]).toMatchObject({ action: 'replace' });
    expect(plan.skills[0]!.diff.join('\n')).toContain('-description: Mine.');
    expect(folder.read('skills/a/SKILL.md')).toBe(skillText('a'));
  });

  test('and was edited is kept, unless it is forced away', async () => {
    collection();
    await folder.install('./src');
    writeFileSync(join(folder.place.folder, 'skills/a/scripts/run.sh'), 'mine\n');
    await expect(folder.install('./src')).rejects.toThrow(/edited/);
    expect(folder.read('skills/a/scripts/run.sh')).toBe('mine\n');
    await folder.install('./src', { force: true });
    expect(folder.read('skills/a/scripts/run.sh')).toContain('echo a');
  });

  test('and is the same changes nothing, byte for byte of the lock', async () => {
    collection();
    await folder.install('./src');
    const lock = readFileSync(folder.lock, 'utf8');
    const plan = await folder.plan('./src');
    expect(plan.skills.map(({ action }) => action)).toEqual(['keep', 'keep', 'keep']);
    expect(await isPending(plan)).toBe(false);
    await applyInstall(plan, signal);
    expect(readFileSync(folder.lock, 'utf8')).toBe(lock);
  });

  test('as a link, or as a flat file of the name, is never written over', async () => {
    collection();
    folder.write('elsewhere/SKILL.md', skillText('a'));
    mkdirSync(join(folder.place.folder, 'skills'), { recursive: true });
    symlinkSync(join(folder.path, 'elsewhere'), join(folder.place.folder, 'skills/a'));
    await expect(folder.install('./src', { skills: ['a'], force: true })).rejects.toThrow(/is a link/);
    rmSync(join(folder.place.folder, 'skills/a'));
    folder.write('project/.reasonix/skills/a.md', skillText('a'));
    await expect(folder.install('./src', { skills: ['a'], force: true })).rejects.toThrow(/of the same name/);
  });

  test('leads out of the project by a link of its own, and is refused', async () => {
    collection();
    mkdirSync(join(folder.path, 'outside'));
    mkdirSync(folder.place.folder);
    symlinkSync(join(folder.path, 'outside'), join(folder.place.folder, 'skills'));
    await expect(folder.install('./src')).rejects.toThrow(/leads out of the project/);
  });

  test('and has the name of a skill elsewhere is said', async () => {
    collection();
    const current = (name: string) =>
      name === 'a' ? ({ scope: 'builtin', path: '/x/a/SKILL.md' } as const) : undefined;
    const plan = await folder.plan('./src', { current });
    expect(plan.skills.map(({ meets }) => meets?.scope)).toEqual(['builtin', undefined, undefined]);
  });
});

describe('a repository', () => {
  test('is installed at its branch, tag or commit, and the lock says the commit', async () => {
    collection();
    const { url, commit, git } = folder.repository('src');
    const first = commit();
    git('tag', 'v1');
    folder.write('src/skills/a/SKILL.md', skillText('a', '', 'Second.\n'));
    const second = commit();
    const plan = await folder.install(url);
    expect(plan.skills.map(({ entry }) => entry.revision)).toEqual([second, second, second]);
    expect(folder.isExecutable('skills/a/scripts/run.sh')).toBe(true);
    expect(folder.installed().some((path) => path.includes('.git'))).toBe(false);
    for (const ref of ['v1', first]) {
      const older = await folder.plan(url, { ref });
      expect(older.skills[0]!.entry).toMatchObject({
        revision: first,
        ref,
        kind: 'git',
        source: url,
        from: 'skills/a',
      });
      expect(older.skills[0]!.diff).toContain('-Second.');
    }
    expect(names(await folder.plan(`${url}#skills/group`))).toEqual(['b']);
    await expect(folder.plan(`${url}#nowhere`)).rejects.toThrow(/no folder nowhere/);
    await expect(folder.plan(url, { ref: 'nobranch' })).rejects.toMatchObject({
      code: 'skill_refused',
      hint: expect.stringContaining('branch'),
    });
  });

  test('runs nothing of its own or of the environment, and follows no link or submodule', async () => {
    folder.write('src/a/SKILL.md', skillText('a'));
    folder.write('src/a/.gitattributes', '* filter=evil\n');
    symlinkSync('/etc/passwd', join(folder.path, 'src/link.md'));
    const { url, commit, git } = folder.repository('src');
    git('config', 'filter.evil.smudge', 'touch smudged');
    commit();
    git('update-index', '--add', '--cacheinfo', `160000,${git('rev-parse', 'HEAD')},sub`);
    git('commit', '--quiet', '--message', 'a submodule');
    const marker = join(folder.path, 'ran');
    const template = join(folder.path, 'template/hooks');
    mkdirSync(template, { recursive: true });
    for (const hook of ['post-checkout', 'reference-transaction', 'post-merge']) {
      writeFileSync(join(template, hook), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 });
    }
    const before = { ...process.env };
    process.env.GIT_TEMPLATE_DIR = join(folder.path, 'template');
    process.env.GIT_DIR = join(folder.path, 'nowhere');
    process.env.GIT_ASKPASS = `touch ${marker}`;
    try {
      await folder.install(url);
    } finally {
      process.env = before;
    }
    expect(existsSync(marker)).toBe(false);
    expect(folder.installed()).toEqual(['skills.lock', 'skills/a/.gitattributes', 'skills/a/SKILL.md']);
  });

  test('that is not there, or not one, fails with what git says', async () => {
    await expect(folder.plan(`file://${folder.path}/nothing`)).rejects.toThrow(/could not be fetched: fatal: /);
  });

  test('with a link in a skill is refused', async () => {
    folder.write('src/a/SKILL.md', skillText('a'));
    symlinkSync('../../secret', join(folder.path, 'src/a/l'));
    const { url, commit } = folder.repository('src');
    commit();
    await expect(folder.plan(url)).rejects.toThrow(/is a link/);
  });

  test('stops at once when it is cancelled, and leaves nothing', async () => {
    collection();
    const { url, commit } = folder.repository('src');
    commit();
    const controller = new AbortController();
    const plan = folder.plan(url, { signal: controller.signal, progress: () => controller.abort(new Error('stop')) });
    await expect(plan).rejects.toThrow('stop');
    const ready = await folder.plan(url);
    await expect(applyInstall(ready, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
    expect(existsSync(folder.place.folder)).toBe(false);
  });
});

describe('a package', () => {
  test('is packed by npm without its scripts, and only what it publishes is installed', async () => {
    collection('pkg');
    folder.write(
      'pkg/package.json',
      JSON.stringify({
        name: 'my-skills',
        version: '1.2.3',
        files: ['skills'],
        scripts: { prepack: 'touch ../ran', prepare: 'touch ../ran', postpack: 'touch ../ran' },
      }),
    );
    const plan = await folder.install('npm:./pkg');
    expect(names(plan)).toEqual(['a', 'b']);
    expect(plan.skills[0]!.entry).toMatchObject({ kind: 'npm', revision: expect.stringMatching(/^sha512-/) });
    expect(existsSync(join(folder.path, 'ran'))).toBe(false);
    expect(folder.isExecutable('skills/a/scripts/run.sh')).toBe(true);
  }, 60_000);
});

describe('an update', () => {
  test('shows what changes, in files and in what the skill may do, and replaces only that', async () => {
    collection();
    const { url, commit } = folder.repository('src');
    commit();
    await folder.install(url);
    expect(await isPending(await planUpdate(undefined, folder.context()))).toBe(false);
    folder.write('src/skills/a/SKILL.md', skillText('a', 'allowed-tools: Bash', 'New.\n'));
    rmSync(join(folder.path, 'src/skills/a/scripts/run.sh'));
    folder.write('src/skills/a/extra.txt', 'extra\n');
    const revision = commit();
    const plan = await folder.update();
    expect(plan.skills.map(({ name, action }) => [name, action])).toEqual([
      ['a', 'update'],
      ['b', 'keep'],
      ['whole', 'keep'],
    ]);
    expect(plan.skills[0]).toMatchObject({
      changes: { added: ['extra.txt'], changed: ['SKILL.md'], removed: ['scripts/run.sh'] },
      grantBefore: { tools: null },
      grant: { tools: ['shell'] },
    });
    expect(plan.skills[0]!.diff).toEqual(expect.arrayContaining(['-Body.', '+New.', '+extra', '-echo a']));
    expect(folder.installed()).not.toContain('skills/a/scripts/run.sh');
    expect(JSON.parse(readFileSync(folder.lock, 'utf8')).skills.b.revision).toBe(revision);
    expect((await verifyInstalled(folder.place)).every(({ status }) => status === 'ok')).toBe(true);
  });

  test('leaves alone what was edited or is gone from its source, and says so', async () => {
    collection();
    await folder.install('./src');
    writeFileSync(join(folder.place.folder, 'skills/a/SKILL.md'), 'mine');
    rmSync(join(folder.path, 'src/skills/group'), { recursive: true });
    folder.write('src/helper.txt', 'new\n');
    const plan = await folder.update();
    expect(plan.lost).toEqual([
      { name: 'a', reason: expect.stringContaining('edited') },
      { name: 'b', reason: expect.stringContaining('no longer') },
    ]);
    expect(names(plan)).toEqual(['whole']);
    expect(folder.read('skills/whole/helper.txt')).toBe('new\n');
    expect(folder.read('skills/a/SKILL.md')).toBe('mine');
    await expect(folder.update('a')).rejects.toThrow(/edited/);
    await expect(folder.update('nope')).rejects.toMatchObject({ code: 'skill_not_found' });
  });

  test('follows a skill from a folder to a flat file', async () => {
    folder.write('src/skills/a/SKILL.md', skillText('a'));
    await folder.install('./src');
    rmSync(join(folder.path, 'src/skills/a'), { recursive: true });
    folder.write('src/skills/a.md', skillText('a', '', 'Flat.\n'));
    await folder.update();
    expect(folder.installed()).toEqual(['skills.lock', 'skills/a.md']);
    expect(await verifyInstalled(folder.place)).toMatchObject([{ status: 'ok' }]);
  });
});
