import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { getKey } from '../../src/config/explain.ts';
import { TestFolders } from './folders.ts';

let folders: TestFolders;
beforeEach(() => {
  folders = new TestFolders();
});
afterEach(() => folders.remove());

describe('tiers', () => {
  test('without any configuration everything is a default', async () => {
    const { config, sources, notes, files } = await folders.load();
    expect(config).toEqual({
      providers: [],
      agent: {
        max_depth: 3,
        max_concurrent: 6,
        max_spawns: 64,
        child_max_steps: 50,
        fallback_models: [],
        request_timeout: 1_800_000,
        default_prices: true,
        background: true,
        background_at_end: 'wait',
        child_notice: true,
        compact_at: 0.8,
        subagent_models: {},
      },
      skills: {
        paths: [],
        excluded_paths: [],
        disabled_skills: [],
        max_depth: 3,
        lazy: false,
        list: { include: [], exclude: [], top_percent: 0, style: 'full', max_bytes: 16_384 },
        required: { enabled: true, names: [], force: false, in_system_prompt: false, policy: 'inject', max_nudges: 3 },
      },
      tools: {
        shell_timeout: 120_000,
        keep_env: [],
        output_limit: 32_768,
        mcp_wait: 5_000,
        search_above: 24_576,
        web_fetch: { allow_private: false, max_bytes: 5_242_880, timeout: 30_000 },
      },
      permissions: { mode: 'ask', allow: [], ask: [], deny: [] },
      sandbox: { allow_write: [], forbid_read: [] },
      store: { schema: 'reasonix', pool_size: 10 },
      engine: {
        prefix: 'reasonix',
        concurrency: 8,
        max_running: 0,
        lease: 10_000,
        tags: [],
        health_host: '127.0.0.1',
        grace: 30_000,
      },
      serve: { port: 4000, host: '127.0.0.1', token_env: 'REASONIX_SERVE__TOKEN' },
      mcp: [],
      hooks: [],
    });
    expect([...new Set([...sources.values()].map(({ tier }) => tier))]).toEqual(['default']);
    expect(notes).toEqual([]);
    expect(files).toEqual([]);
  });

  test('a default list is not shared between two loads', async () => {
    const first = await folders.load();
    first.config.skills.paths.push('/x');
    expect((await folders.load()).config.skills.paths).toEqual([]);
  });

  test('each key comes from the highest place that sets it, with its line', async () => {
    const user = folders.write(
      'home/.reasonix/config.toml',
      'default_model = "u"\n[agent]\nmax_depth = 1\nmax_spawns = 10\n',
    );
    const hidden = folders.write('project/.reasonix/config.toml', '[agent]\nmax_depth = 4\nmax_steps = 7\n');
    const project = folders.write('project/reasonix.toml', '# comment\n\n[agent]\nmax_depth = 5\n');
    const { config, sources, files } = await folders.load({ env: { REASONIX_AGENT__MAX_STEPS: '8' } });
    expect(config).toMatchObject({ default_model: 'u', agent: { max_depth: 5, max_spawns: 10, max_steps: 8 } });
    expect(sources.get('agent.max_depth')).toMatchObject({ tier: 'project', path: project, line: 4 });
    expect(sources.get('agent.max_spawns')).toMatchObject({ tier: 'user', path: user, line: 4 });
    expect(sources.get('agent.max_steps')).toMatchObject({ tier: 'environment', name: 'REASONIX_AGENT__MAX_STEPS' });
    expect(files).toEqual([
      { tier: 'project', path: project },
      { tier: 'project', path: hidden },
      { tier: 'user', path: user },
    ]);
  });

  test('the nearest folder up to the root of the repository is the project', async () => {
    folders.write('reasonix.toml', 'default_model = "outside"\n');
    folders.write('project/reasonix.toml', 'default_model = "root"\n[skills]\npaths = ["pack"]\n');
    const deep = join(folders.project, 'a', 'b');
    mkdirSync(deep, { recursive: true });
    const { config } = await folders.load({ cwd: deep });
    expect(config.default_model).toBe('root');
    expect(config.skills.paths).toEqual([join(folders.project, 'pack')]);
    folders.write('project/a/reasonix.toml', 'default_model = "nearer"\n');
    expect((await folders.load({ cwd: deep })).config.default_model).toBe('nearer');
    rmSync(join(folders.project, '.git'), { recursive: true });
    expect((await folders.load({ cwd: deep })).config.default_model).toBeUndefined();
  });

  test('the user file seen from the home folder is no project file', async () => {
    folders.write('home/.reasonix/config.toml', 'default_model = "u"\n');
    folders.write('home/.claude/scorpiox-env.txt', 'TOOL_SEARCHSKILLS=1\n');
    const { sources } = await folders.load({ cwd: folders.home });
    expect(sources.get('default_model')?.tier).toBe('user');
    expect(sources.get('skills.lazy')?.tier).toBe('user');
  });

  test('REASONIX_HOME moves the user file', async () => {
    folders.write('elsewhere/config.toml', 'default_model = "moved"\n');
    const env = { REASONIX_HOME: join(folders.root, 'elsewhere') };
    const loaded = await folders.load({ env });
    expect(loaded.config.default_model).toBe('moved');
    expect(loaded.folders.reasonixHome).toBe(env.REASONIX_HOME);
    expect((await folders.load({ env: { REASONIX_HOME: '~/x' } })).folders.reasonixHome).toBe(join(folders.home, 'x'));
  });

  test('--config stands in for all files of the project', async () => {
    folders.write('project/reasonix.toml', 'default_model = "p"\n');
    folders.write('project/.scorpiox/scorpiox-env.txt', 'TOOL_SEARCHSKILLS=1\n');
    folders.write('project/other/x.toml', '[skills]\npaths = ["here"]\n');
    const { config } = await folders.load({ configFile: 'other/x.toml' });
    expect(config.default_model).toBeUndefined();
    expect(config.skills.lazy).toBe(false);
    expect(config.skills.paths).toEqual([join(folders.project, 'other', 'here')]);
  });

  test('an empty value sets nothing, anywhere', async () => {
    folders.write('home/.reasonix/config.toml', 'default_model = "u"\n[skills]\nlazy = true\n[agent]\nmax_steps = 5\n');
    folders.write('project/reasonix.toml', 'default_model = ""\n[skills]\nlazy = ""\n[agent]\nmax_steps = " "\n');
    folders.write('project/.scorpiox/scorpiox-env.txt', 'TOOL_SEARCHSKILLS=\n');
    const { config } = await folders.load({ env: { TOOL_SEARCHSKILLS: ' ' }, overrides: ['skills.lazy='] });
    expect(config).toMatchObject({ default_model: 'u', skills: { lazy: true }, agent: { max_steps: 5 } });
  });

  test('an empty list is a value', async () => {
    folders.write('home/.reasonix/config.toml', '[permissions]\nallow = ["write_file"]\n');
    folders.write('project/reasonix.toml', '[permissions]\nallow = []\n');
    expect((await folders.load()).config.permissions.allow).toEqual([]);
  });

  test('-e takes every spelling and the last one counts', async () => {
    for (const override of ['skills.lazy=yes', 'REASONIX_SKILLS__LAZY=1', 'TOOL_SEARCHSKILLS=on']) {
      const { config, sources } = await folders.load({
        overrides: ['skills.lazy=0', override],
        env: { TOOL_SEARCHSKILLS: '0' },
      });
      expect(config.skills.lazy, override).toBe(true);
      expect(sources.get('skills.lazy')?.tier).toBe('flag');
    }
    const { config } = await folders.load({ overrides: ['TOOL_SEARCHSKILLS=1', 'skills.lazy=off'] });
    expect(config.skills.lazy).toBe(false);
  });

  test('of two names in the environment, the REASONIX_ one wins', async () => {
    const { config } = await folders.load({ env: { REASONIX_SKILLS__LAZY: '0', TOOL_SEARCHSKILLS: '1' } });
    expect(config.skills.lazy).toBe(false);
  });

  test('tables with names of the user are merged name by name', async () => {
    folders.write('home/.reasonix/config.toml', '[agent.subagent_models]\nexplore = "a"\n"my.skill" = "b"\n');
    folders.write('project/reasonix.toml', '[agent]\nsubagent_models = { explore = "c" }\n');
    const { config, sources } = await folders.load({ env: { REASONIX_AGENT__SUBAGENT_MODELS: 'review=d, x=e' } });
    expect(config.agent.subagent_models).toEqual({ explore: 'c', 'my.skill': 'b', review: 'd', x: 'e' });
    expect(sources.get('agent.subagent_models."my.skill"')?.tier).toBe('user');
  });
});

describe('providers', () => {
  const user = `[[providers]]
name = "deepseek"
kind = "openai"
base_url = "https://api.deepseek.com"
models = ["deepseek-chat"]
api_key_env = "DEEPSEEK_API_KEY"
[providers.prices."deepseek.chat"]
input = 1
output = 2.5
[providers.headers]
X-Title = "t"

[[providers]]
name = "local"
kind = "openai"
`;

  test('become the settings of the model clients', async () => {
    folders.write('home/.reasonix/config.toml', user);
    expect((await folders.load()).config.providers).toEqual([
      {
        name: 'deepseek',
        kind: 'openai',
        base_url: 'https://api.deepseek.com',
        models: ['deepseek-chat'],
        api_key_env: 'DEEPSEEK_API_KEY',
        prices: { 'deepseek.chat': { input: 1, output: 2.5 } },
        headers: { 'X-Title': 't' },
      },
      { name: 'local', kind: 'openai', models: [] },
    ]);
  });

  test('are merged by name, those of the project first', async () => {
    folders.write('home/.reasonix/config.toml', user);
    folders.write(
      'project/reasonix.toml',
      '[[providers]]\nname = "mine"\nkind = "scripted"\nscript = "rules.yaml"\n[[providers]]\nname = "local"\nmodels = ["m"]\n',
    );
    const { config } = await folders.load({ overrides: ['providers.deepseek.base_url=http://127.0.0.1:9/v1'] });
    expect(config.providers.map(({ name }) => name)).toEqual(['mine', 'local', 'deepseek']);
    expect(config.providers[0]).toEqual({
      name: 'mine',
      kind: 'scripted',
      script: join(folders.project, 'rules.yaml'),
      models: [],
    });
    expect(config.providers[1]).toEqual({ name: 'local', kind: 'openai', models: ['m'] });
    expect(config.providers[2]?.base_url).toBe('http://127.0.0.1:9/v1');
  });
});

describe('B08', () => {
  test('paths with ~ and blanks are expanded, exclusions and disabled names are taken over a restart', async () => {
    folders.write(
      'project/reasonix.toml',
      '[skills]\ndisabled_skills = ["x"]\nexcluded_paths = ["~/.agents/skills"]\npaths = ["~/mine", "my packs/a", "/abs"]\n',
    );
    for (const _ of ['start', 'restart']) {
      const { config } = await folders.load();
      expect(config.skills.disabled_skills).toEqual(['x']);
      expect(config.skills.excluded_paths).toEqual([join(folders.home, '.agents', 'skills')]);
      expect(config.skills.paths).toEqual([join(folders.home, 'mine'), join(folders.project, 'my packs', 'a'), '/abs']);
    }
  });

  test('paths of a higher tier replace those of a lower one; ADDITIONAL_SKILLS adds', async () => {
    folders.write('home/.reasonix/config.toml', '[skills]\npaths = ["/user"]\n');
    folders.write('project/reasonix.toml', '[skills]\npaths = ["/project"]\n');
    folders.write('home/.claude/scorpiox-env.txt', 'ADDITIONAL_SKILLS=~/shared, /project\n');
    const loaded = await folders.load();
    expect(loaded.config.skills.paths).toEqual(['/project', join(folders.home, 'shared')]);
    expect(getKey(loaded, 'ADDITIONAL_SKILLS').tier).toBe('project');
    const flagged = await folders.load({ env: { ADDITIONAL_SKILLS: 'packs' } });
    expect(flagged.config.skills.paths).toEqual(['/project', join(folders.project, 'packs')]);
    expect(flagged.sources.get('skills.paths')).toMatchObject({ tier: 'environment', name: 'ADDITIONAL_SKILLS' });
  });

  test('refusals of all tiers add up: no tier lifts what another one refuses', async () => {
    folders.write('home/.reasonix/config.toml', '[permissions]\ndeny = ["shell(rm *)"]\n');
    folders.write('project/reasonix.toml', '[permissions]\ndeny = []\n[sandbox]\nforbid_read = [".env"]\n');
    const { config } = await folders.load({ overrides: ['permissions.deny=web_fetch'] });
    expect(config.permissions.deny).toEqual(['web_fetch', 'shell(rm *)']);
    expect(config.sandbox.forbid_read).toHaveLength(1);
  });
});

describe('profiles', () => {
  test('lie between environment and project; tables, files, any way of choosing', async () => {
    folders.write(
      'project/reasonix.toml',
      '[skills]\nlazy = false\nmax_depth = 2\n[profiles.big]\nskills.lazy = true\n[profiles.big.skills.list]\nstyle = "names"\n',
    );
    folders.write('home/.reasonix/profiles/big.toml', '[skills]\nlazy = false\nmax_depth = 6\n');
    folders.write('home/.reasonix/profiles/file.toml', 'default_model = "f"\n');
    for (const options of [
      { profile: 'big' },
      { env: { REASONIX_PROFILE: 'big' } },
      { env: { ACTIVE_PROFILE: 'big' } },
      { overrides: ['profile=big'] },
      { profile: 'big', env: { REASONIX_PROFILE: 'file' } },
    ]) {
      const { config, sources } = await folders.load(options);
      expect(config.profile).toBe('big');
      expect(config.skills).toMatchObject({ lazy: true, max_depth: 6, list: { style: 'names' } });
      expect(sources.get('skills.lazy')).toMatchObject({ tier: 'profile', line: 5 });
    }
    const { config } = await folders.load({ profile: 'big', env: { TOOL_SEARCHSKILLS: '0' } });
    expect(config.skills.lazy).toBe(false);
    expect((await folders.load({ profile: 'file' })).config.default_model).toBe('f');
  });

  test('a file chooses one, "off" takes it back', async () => {
    folders.write('home/.reasonix/config.toml', 'profile = "p"\n[profiles.p]\ndefault_model = "m"\n');
    expect((await folders.load()).config).toMatchObject({ profile: 'p', default_model: 'm' });
    const { config } = await folders.load({ profile: 'off' });
    expect(config.default_model).toBeUndefined();
    expect(config.profile).toBeUndefined();
  });

  test('an unknown one is an error that names the nearest, or all', async () => {
    folders.write('project/reasonix.toml', '[profiles.bigger]\nskills.lazy = true\n');
    folders.write('home/.reasonix/profiles/other.toml', '');
    expect((await folders.fault({ profile: 'biger' })).message).toMatch(
      /command line, --profile: .*"biger"; the nearest is bigger/,
    );
    expect((await folders.fault({ env: { REASONIX_PROFILE: 'zzzzzzzz' } })).message).toMatch(
      /environment variable REASONIX_PROFILE: .*there are: bigger, other/,
    );
  });

  test('its name cannot lead out of the folder', async () => {
    folders.write('home/.reasonix/config.toml', 'default_model = "u"\n');
    for (const profile of ['../config', 'a/b', '..', 'a b', 'x'.repeat(65)]) {
      expect((await folders.fault({ profile })).message).toMatch(/--profile: expected the name of a profile/);
    }
    expect((await folders.fault({ env: { ACTIVE_PROFILE: '../config' } })).message).toMatch(/ACTIVE_PROFILE: expected/);
  });

  test('cannot choose another profile', async () => {
    folders.write('project/reasonix.toml', '[profiles.a]\nprofile = "b"\n');
    expect((await folders.fault()).message).toMatch(/line 2: a profile cannot choose/);
    folders.write('project/reasonix.toml', '');
    folders.write('home/.reasonix/profiles/a.toml', 'profile = "b"\n');
    expect((await folders.fault({ profile: 'a' })).message).toMatch(/a\.toml: a profile cannot choose/);
  });
});

describe('start-up', () => {
  test('an empty project is loaded in under 5 ms', async () => {
    let best = Number.POSITIVE_INFINITY;
    for (let run = 0; run < 20; run++) {
      const start = performance.now();
      await folders.load({ env: process.env });
      best = Math.min(best, performance.now() - start);
    }
    expect(best).toBeLessThan(5);
  });

  test('the modules import only Node, each other and small modules; the parser waits for a file', () => {
    const folder = join(import.meta.dirname, '..', '..', 'src', 'config');
    for (const name of readdirSync(folder)) {
      const text = readFileSync(join(folder, name), 'utf8');
      for (const [, clause, from] of text.matchAll(/^import (type )?[^;]*?'([^']+)';/gm)) {
        if (clause) continue;
        expect(from, name).toMatch(
          /^(node:|\.\/|\.\.\/(core\/(errors|text|prompts|tool-rules|edit-distance|hook-settings)|models\/(hosts|key-variable))\.ts$)/,
        );
      }
    }
  });

  test('links to settings are followed', async () => {
    const real = folders.write('shared/team.toml', 'default_model = "team"\n');
    symlinkSync(real, join(folders.project, 'reasonix.toml'));
    expect((await folders.load()).config.default_model).toBe('team');
    expect(dirname(real)).not.toBe(folders.project);
  });
});
