import { linkSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenedLibrary } from '../../src/skills/library.ts';
import { codesOf, namesOf, SkillFolder } from './folder.ts';

let at: SkillFolder;
beforeEach(() => {
  at = new SkillFolder();
});
afterEach(() => at[Symbol.dispose]());

const SKILLS = 'project/.reasonix/skills';
const diagnosticsOf = (library: OpenedLibrary, code: string): string[] =>
  library.diagnostics.filter((each) => each.code === code).map((each) => each.path);

const messagesOf = (library: OpenedLibrary, code: string): string[] =>
  library.diagnostics.filter((each) => each.code === code).map((each) => each.message);

describe('roots', () => {
  it('takes the first definition in the documented order', async () => {
    const order = [
      'project/app/.reasonix/skills',
      'project/app/.agents/skills',
      'project/app/.agent/skills',
      'project/app/.claude/skills',
      'project/.reasonix/skills',
      'project/.claude/skills',
      'more/one',
      'more/two',
      'home/.reasonix/skills',
      'home/.agents/skills',
      'home/.agent/skills',
      'home/.claude/skills',
      'builtins',
    ];
    for (const root of order) at.skill(`${root}/same`, `description: from ${root}`);
    const options = {
      cwd: join(at.project, 'app'),
      paths: [join(at.path, 'more/one'), join(at.path, 'more/two')],
      builtins: join(at.path, 'builtins'),
    };
    const scopes: string[] = [];
    for (const [index, root] of order.entries()) {
      const library = await at.open({
        ...options,
        excludedPaths: order.slice(0, index).map((path) => join(at.path, path)),
      });
      expect(library.skills).toHaveLength(1);
      expect(library.skills[0]).toMatchObject({ description: `from ${root}`, root: join(at.path, root) });
      expect(library.skills[0]!.shadows.map(({ path }) => path)).toEqual(
        order.slice(index + 1).map((path) => join(at.path, path, 'same/SKILL.md')),
      );
      scopes.push(library.skills[0]!.scope);
    }
    expect(scopes).toEqual([...Array(6).fill('project'), 'custom', 'custom', ...Array(4).fill('user'), 'builtin']);
  });

  it('walks up to the repository root and no further', async () => {
    at.skill('.reasonix/skills/outside', 'description: d');
    at.skill('project/.agents/skills/top', 'description: d');
    at.skill('project/a/b/.claude/skills/near', 'description: d');
    expect(namesOf(await at.open({ cwd: join(at.project, 'a/b') }))).toEqual(['near', 'top']);
    mkdirSync(join(at.path, 'loose/inner'), { recursive: true });
    at.skill('loose/.claude/skills/above', 'description: d');
    expect(namesOf(await at.open({ cwd: join(at.path, 'loose/inner') }))).toEqual([]);
  });

  it('takes the home folder for the user’s, also when one works in it', async () => {
    at.skill('home/.claude/skills/mine', 'description: d');
    const library = await at.open({ cwd: at.home });
    expect(library.skills).toMatchObject([{ name: 'mine', scope: 'user' }]);
  });

  it('C02 lets the project win over the user, by the folder’s name too', async () => {
    at.skill('home/.claude/skills/dogfood', 'name: dogfood\ndescription: user');
    at.skill('project/.claude/skills/dogfood', 'description: project');
    const [skill] = (await at.open()).skills;
    expect(skill).toMatchObject({
      description: 'project',
      file: join(at.project, '.claude/skills/dogfood/SKILL.md'),
      shadows: [{ scope: 'user', path: join(at.home, '.claude/skills/dogfood/SKILL.md') }],
    });
  });

  it('B08 expands paths and drops excluded roots', async () => {
    at.skill('home/my skills/a', 'description: d');
    at.skill('project/team/b', 'description: d');
    at.skill('elsewhere/c', 'description: d');
    at.skill('home/.agents/skills/d', 'description: d');
    const library = await at.open({
      env: { TEAM_SKILLS: join(at.path, 'elsewhere'), EMPTY: '' },
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: the variables are expanded by the library
      paths: ['~/my skills', 'team', '${TEAM_SKILLS}', '${EMPTY}/x', '${PATH}', '', '~/my skills/'],
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above
      excludedPaths: ['~/.agents/skills'],
    });
    expect(namesOf(library)).toEqual(['a', 'b', 'c']);
    expect(codesOf(library.diagnostics)).toEqual(['path-variable-unset', 'path-variable-unset']);
    expect(library.roots.find((root) => root.status === 'excluded')?.path).toBe(join(at.home, '.agents/skills'));
    expect(library.roots.filter((root) => root.scope === 'custom')).toHaveLength(3);
  });

  it('reports a named root that is missing or no folder, and never throws', async () => {
    at.write('file', 'x');
    symlinkSync('nothing', join(at.path, 'broken'));
    const library = await at.open({
      cwd: join(at.path, 'no/such/place'),
      paths: [join(at.path, 'file'), join(at.path, 'broken'), '/no/such'],
    });
    expect(codesOf(library.diagnostics)).toEqual(['root-not-a-folder', 'root-missing', 'root-missing']);
    expect(library.skills).toEqual([]);
  });
});

describe('scan', () => {
  it('B01 follows links to folders and files, and reports one that leads nowhere', async () => {
    at.skill('project/shared/a', 'description: d');
    at.write('project/x.md', '---\nname: b\ndescription: d\n---\nB');
    at.write('project/real.md', '---\ndescription: d\n---\nB');
    mkdirSync(join(at.path, SKILLS, 'c'), { recursive: true });
    const link = (name: string, target: string): void => symlinkSync(target, join(at.path, SKILLS, name));
    link('a', '../../shared/a');
    link('b.md', '../../x.md');
    link('c/SKILL.md', '../../../real.md');
    link('d', 'missing');
    link('e', 'e');
    const library = await at.open();
    expect(library.skills.map(({ name, file }) => [name, file])).toEqual([
      ['a', join(at.path, SKILLS, 'a/SKILL.md')],
      ['b', join(at.path, SKILLS, 'b.md')],
      ['c', join(at.path, SKILLS, 'c/SKILL.md')],
    ]);
    expect(diagnosticsOf(library, 'link-broken')).toEqual([join(at.path, SKILLS, 'd')]);
    expect(diagnosticsOf(library, 'link-loop')).toEqual([join(at.path, SKILLS, 'e')]);
    for (const skill of library.skills) expect((await library.load(skill)).text).toMatch(/^B/);
  });

  it('ends in loops of links and counts a file once by its real path', async () => {
    at.skill(`${SKILLS}/group/z`, 'name: z\ndescription: d');
    symlinkSync('..', join(at.path, SKILLS, 'group/up'));
    // without a guard, these alone are millions of paths
    for (let copy = 0; copy < 20; copy++) symlinkSync('.', join(at.path, SKILLS, `here-${copy}`));
    symlinkSync('group/z', join(at.path, SKILLS, 'a'));
    symlinkSync('../.reasonix', join(at.path, 'project/.agents'));
    symlinkSync(join(at.path, SKILLS), join(at.path, 'other'));
    const library = await at.open({ paths: [join(at.path, 'other')], maxDepth: 6 });
    expect(library.skills).toMatchObject([{ name: 'z', file: join(at.path, SKILLS, 'group/z/SKILL.md'), shadows: [] }]);
  });

  it('counts two names of one file once, the real one', async () => {
    at.write(`${SKILLS}/zz.md`, '---\ndescription: d\n---\nB');
    symlinkSync('zz.md', join(at.path, SKILLS, 'aa.md'));
    const library = await at.open();
    expect(namesOf(library)).toEqual(['zz']);
    expect(library.collapsed).toEqual([{ path: join(at.path, SKILLS, 'aa.md'), same: join(at.path, SKILLS, 'zz.md') }]);
  });

  it('keeps two hard links apart: they are two files with one content', async () => {
    at.skill(`${SKILLS}/one`, 'description: d');
    mkdirSync(join(at.path, SKILLS, 'two'));
    linkSync(join(at.path, SKILLS, 'one/SKILL.md'), join(at.path, SKILLS, 'two/SKILL.md'));
    expect(namesOf(await at.open())).toEqual(['one', 'two']);
  });

  it('B03 does not descend into a skill, nor into dependencies and hidden folders', async () => {
    at.skill(`${SKILLS}/web`, 'description: d');
    for (const folder of [
      'web/node_modules/p',
      'web/references/demo',
      'web/inner',
      '.git/x',
      'node_modules/q',
      'group/scripts/y',
      'Assets/z',
    ]) {
      at.skill(`${SKILLS}/${folder}`, 'description: d');
    }
    expect(namesOf(await at.open())).toEqual(['web']);
  });

  it('B05 takes a skill at the root and those below it', async () => {
    at.skill('source', 'name: source\ndescription: d');
    at.skill('source/skills/a', 'description: d');
    at.skill('source/skills/group/b', 'description: d');
    at.skill('source/c', 'description: d');
    at.skill('source/c/nested', 'description: d');
    at.write('source/notes.md', 'Of the root skill.');
    expect(namesOf(await at.open({ paths: [join(at.path, 'source')] }))).toEqual(['a', 'b', 'c', 'source']);
  });

  it('reaches max_depth and says when there is more', async () => {
    at.skill(`${SKILLS}/1/2/three`, 'description: d');
    at.skill(`${SKILLS}/1/2/3/four`, 'description: d');
    const library = await at.open();
    expect(namesOf(library)).toEqual(['three']);
    expect(library.diagnostics).toMatchObject([{ code: 'depth-reached', message: expect.stringContaining('1/2/3') }]);
    expect(namesOf(await at.open({ maxDepth: 4 }))).toEqual(['four', 'three']);
    expect(namesOf(await at.open({ maxDepth: 99 }))).toEqual(['four', 'three']);
    expect(namesOf(await at.open({ maxDepth: 1 }))).toEqual([]);
  });

  it('takes SKILL.md in any case, the exact one first', async () => {
    at.write(`${SKILLS}/a/skill.md`, '---\ndescription: d\n---\n');
    at.write(`${SKILLS}/b/Skill.MD`, '---\ndescription: d\n---\n');
    at.write(`${SKILLS}/c/skill.md`, '---\ndescription: wrong\n---\n');
    at.skill(`${SKILLS}/c`, 'description: right');
    const library = await at.open();
    expect(library.skills.map(({ name, description }) => [name, description])).toEqual([
      ['a', 'd'],
      ['b', 'd'],
      ['c', 'right'],
    ]);
    expect(diagnosticsOf(library, 'file-name-case')).toHaveLength(2);
  });

  it('tells flat skills from documentation', async () => {
    at.write(`${SKILLS}/plain.md`, 'Do it.');
    at.write(`${SKILLS}/README.md`, '# About');
    at.write(`${SKILLS}/notes.txt`, 'x');
    at.write(`${SKILLS}/group/doc.md`, 'No skill.');
    at.write(`${SKILLS}/group/skill-in-group.md`, '---\ndescription: d\n---\n');
    at.write('project/.claude/skills/doc.md', 'No skill.');
    at.write('project/.claude/skills/odd.md', '---\nfoo: bar\n---\nNo skill.');
    at.write('project/.claude/skills/real.md', '---\nname: real\n---\nDo it.');
    const library = await at.open();
    expect(namesOf(library)).toEqual(['plain', 'real', 'skill-in-group']);
    expect(library.skills.map(({ layout }) => layout)).toEqual(['flat', 'flat', 'flat']);
    expect(diagnosticsOf(library, 'flat-ignored')).toHaveLength(4);
  });

  it('loads agents folders as manual sub-agents', async () => {
    at.write(
      'project/.claude/agents/reviewer.md',
      '---\nname: reviewer\ndescription: d\ntools: Read, Grep\nmodel: inherit\n---\nYou review.',
    );
    at.write('project/.claude/agents/README.md', '# Agents');
    at.write('home/.reasonix/agents/team/helper.md', '---\ndescription: d\n---\nYou help.');
    const library = await at.open();
    expect(library.skills).toMatchObject([
      { name: 'helper', runAs: 'subagent', invocation: 'manual', layout: 'agent', scope: 'user' },
      {
        name: 'reviewer',
        runAs: 'subagent',
        invocation: 'manual',
        allowedTools: [{ tool: 'read_file' }, { tool: 'grep' }],
      },
    ]);
    expect(library.skills[1]!.model).toBeUndefined();
  });

  it('reads plugins with their skills and agents under their name', async () => {
    at.write(
      'plugins/kit/.claude-plugin/plugin.json',
      JSON.stringify({ name: 'my-kit', agents: ['./more/extra.md', '../../outside'] }),
    );
    at.skill('plugins/kit/skills/build', 'name: build\ndescription: d');
    at.skill('plugins/kit/skills/group/deep/er', 'description: d');
    at.write('plugins/kit/agents/scout.md', '---\ndescription: d\n---\nYou scout.');
    at.write('plugins/kit/more/extra.md', '---\ndescription: d\n---\nYou are extra.');
    at.write('plugins/bad/.claude-plugin/plugin.json', '{');
    at.skill('plugins/bad/skills/x', 'description: d');
    at.skill('outside/y', 'description: d');
    const library = await at.open({ paths: [join(at.path, 'plugins')] });
    expect(namesOf(library)).toEqual(['bad:x', 'my-kit:build', 'my-kit:er', 'my-kit:extra', 'my-kit:scout']);
    expect(library.skills.find(({ name }) => name === 'my-kit:scout')).toMatchObject({
      runAs: 'subagent',
      invocation: 'manual',
    });
    expect(diagnosticsOf(library, 'plugin')).toHaveLength(2);
    expect(library.find('build')).toMatchObject({ status: 'found', skill: { name: 'my-kit:build' } });
    expect(namesOf(await at.open({ paths: [join(at.path, 'plugins/kit')] }))).toHaveLength(4);
  });

  it('reads the plugins of a marketplace, each with its own skills', async () => {
    const plugins = [
      { name: 'docs', source: './', strict: false, skills: ['./skills/pdf', './skills/xlsx/SKILL.md'] },
      { name: 'examples', source: './', strict: false, skills: ['./skills/art'] },
      { name: 'own', source: './plugins/own' },
      { name: 'short', source: 'short' },
      { name: 'manifest', source: './plugins/manifest', agents: './helpers' },
      { name: 'away', source: { source: 'github', repo: 'somebody/away' } },
      { name: 'site', source: 'https://example.org/x.git' },
      { name: 'gone', source: './plugins/gone' },
      { name: 'out', source: '../outside' },
      { name: 'reach', source: './plugins/own', skills: ['../../../outside'] },
      { name: 'a:b', source: './plugins/third' },
      'odd',
    ];
    const market = { name: 'm', owner: { name: 'o' }, metadata: { pluginRoot: './plugins' }, plugins };
    at.write('repo/.claude-plugin/marketplace.json', JSON.stringify(market));
    for (const name of ['pdf', 'xlsx', 'art', 'loose']) at.skill(`repo/skills/${name}`, 'description: d');
    at.skill('repo/skills/pdf/nested', 'description: part of pdf');
    at.skill('repo/plugins/own/skills/one', 'description: d');
    at.write('repo/plugins/own/agents/scout.md', '---\ndescription: d\n---\nYou scout.');
    at.skill('repo/plugins/short', 'description: the plugin is one skill');
    at.write('repo/plugins/manifest/.claude-plugin/plugin.json', '{"name":"other-name","skills":["./extra"]}');
    at.skill('repo/plugins/manifest/skills/two', 'description: d');
    at.skill('repo/plugins/manifest/extra/three', 'description: d');
    at.write('repo/plugins/manifest/helpers/aid.md', '---\ndescription: d\n---\nYou aid.');
    at.skill('repo/plugins/third/skills/four', 'description: d');
    at.skill('repo/plugins/unlisted/five', 'description: d');
    at.skill('outside/y', 'description: d');
    const library = await at.open({ paths: [join(at.path, 'repo')] });
    expect(namesOf(library)).toEqual([
      'docs:pdf',
      'docs:xlsx',
      'examples:art',
      'five',
      'loose',
      'manifest:aid',
      'manifest:three',
      'manifest:two',
      'own:one',
      'own:scout',
      'short:short',
      'third:four',
    ]);
    expect(library.skills.find(({ name }) => name === 'manifest:aid')).toMatchObject({ runAs: 'subagent' });
    expect(messagesOf(library, 'plugin')).toEqual([
      'marketplace.json: the plugin "gone" has no folder ./plugins/gone',
      'marketplace.json: names a path outside the plugin: ../outside',
      'marketplace.json: names a path outside the plugin: ../../../outside',
      `marketplace.json: the plugin's name cannot be used: "third" is used instead`,
    ]);
    expect(messagesOf(library, 'plugin-elsewhere')).toEqual([
      '2 plugins lie in other repositories and not here, the first is away (somebody/away)',
    ]);
    expect(library.collapsed).toEqual([]);
    expect(library.find('pdf')).toMatchObject({ status: 'found', skill: { name: 'docs:pdf' } });
  });

  it.each(['', '{', '[]', '{"plugins":{}}', '{"plugins":[null,1]}'])(
    'does without a broken marketplace: %j',
    async (text) => {
      at.write('repo/.claude-plugin/marketplace.json', text);
      at.skill('repo/skills/a', 'description: d');
      const library = await at.open({ paths: [join(at.path, 'repo')] });
      expect(namesOf(library)).toEqual(['a']);
      expect(diagnosticsOf(library, 'plugin')).toHaveLength(text.includes('null') ? 0 : 1);
    },
  );

  it('gives NFC and NFD folders one name each, and refuses names that hide', async () => {
    at.skill(`${SKILLS}/${'café'.normalize('NFD')}`, 'description: d');
    at.skill(`${SKILLS}/a\u202Eb`, 'description: d');
    at.skill(`${SKILLS}/Größe`, 'description: d');
    const library = await at.open();
    expect(namesOf(library)).toEqual(['Größe'.normalize('NFC'), 'café'.normalize('NFC')]);
    for (const form of ['NFC', 'NFD'] as const) expect(library.find('café'.normalize(form)).status).toBe('found');
    expect(codesOf(library.diagnostics)).toContain('name-unusable');
  });

  it('skips what cannot be read or is no file, with a word', async () => {
    mkdirSync(join(at.path, SKILLS, 'folder/SKILL.md'), { recursive: true });
    mkdirSync(join(at.path, SKILLS, 'broken'), { recursive: true });
    symlinkSync('nothing', join(at.path, SKILLS, 'broken/SKILL.md'));
    mkdirSync(join(at.path, SKILLS, 'device'), { recursive: true });
    symlinkSync('/dev/zero', join(at.path, SKILLS, 'device/SKILL.md'));
    at.write(`${SKILLS}/huge/SKILL.md`, Buffer.alloc(9 * 1024 * 1024, 'x'));
    at.skill(`${SKILLS}/good`, 'description: d');
    const library = await at.open();
    expect(namesOf(library)).toEqual(['good']);
    expect(codesOf(library.diagnostics).sort()).toEqual(['link-broken', 'not-a-file', 'not-a-file', 'too-large']);
  });
});
