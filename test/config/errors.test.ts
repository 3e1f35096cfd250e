import { chmodSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFolders } from './folders.ts';

let folders: TestFolders;
beforeEach(() => {
  folders = new TestFolders();
});
afterEach(() => folders.remove());

test('a duration that is too short is told the least one, and why', async () => {
  const path = folders.write('project/reasonix.toml', '[engine]\nlease = "500ms"\n');
  expect((await folders.fault()).message).toContain(
    `project file ${path}, line 2: engine.lease: expected a duration such as "90s" or "5m" (a bare number is seconds), at least 2s: with less, a worker that stands still for a moment would lose its sessions to others, found "500ms"`,
  );
  folders.write('project/reasonix.toml', '[agent]\ntimeout = 0\n');
  expect((await folders.fault()).message).toContain('more than 0, found 0');
});

describe('unknown keys', () => {
  test.each([
    ['[skills]\nlazzy = true\n', 2, 'unknown key skills.lazzy; the nearest valid key is skills.lazy'],
    [
      '\n\nskills.list.stile = "names"\n',
      3,
      'unknown key skills.list.stile; the nearest valid key is skills.list.style',
    ],
    ['[skils]\nlazy = true\n', 1, 'unknown section skils; the nearest valid key is skills'],
    ['max_steps = 5\n', 1, 'unknown key max_steps; the nearest valid key is agent.max_steps'],
    [
      '[[providers]]\nname = "a"\nkind = "openai"\n\nbase_ulr = "http://x"\n',
      5,
      'unknown key providers.a.base_ulr; the nearest valid key is providers.a.base_url',
    ],
    [
      '[[providers]]\nname = "a"\nkind = "openai"\n[[providers]]\nname = "b"\nmodel = ["x"]\n',
      6,
      'unknown key providers.b.model; the nearest valid key is providers.b.models',
    ],
    ['[[mpc]]\nname = "docs"\n', 1, 'unknown section mpc; the nearest valid key is mcp'],
    ['[agent]\n"" = 1\n', 2, 'unknown key agent.""; '],
    ['[agent.subagent_models]\n__proto__ = "x"\n', 2, 'unknown key agent.subagent_models.__proto__'],
    [
      '[profiles.p]\nskills.lazy = true\nskills.lasy = true\n',
      3,
      'unknown key skills.lasy; the nearest valid key is skills.lazy',
    ],
  ])('%j', async (text, line, message) => {
    const path = folders.write('project/reasonix.toml', text);
    const fault = await folders.fault();
    expect(fault.code).toBe('config');
    expect(fault.message).toContain(`project file ${path}, line ${line}: ${message}`);
    // `config list` would end with the same error.
    expect(fault.hint).not.toContain('config list');
    expect(readFileSync(/\S+reasonix\.example\.toml/.exec(fault.hint ?? '')?.[0] ?? '', 'utf8')).toContain(
      '#max_depth',
    );
  });

  test('on the command line and in the environment', async () => {
    expect((await folders.fault({ overrides: ['skills.lzy=1'] })).message).toBe(
      'command line, skills.lzy: unknown key skills.lzy; the nearest valid key is skills.lazy',
    );
    expect((await folders.fault({ overrides: ['TOOL_SEARCHSKILL=1'] })).message).toMatch(
      /nearest valid key is TOOL_SEARCHSKILLS$/,
    );
    expect((await folders.fault({ env: { REASONIX_SKILS__LAZY: '1' } })).message).toBe(
      'environment variable REASONIX_SKILS__LAZY: unknown key REASONIX_SKILS__LAZY; the nearest valid key is REASONIX_SKILLS__LAZY',
    );
    const { notes } = await folders.load({
      env: { REASONIX_DEFAULT_MODLE: 'x', REASONIX_HOME: folders.home, REASONIX_SOMETHING_ELSE: '1' },
    });
    expect(notes).toEqual([{ message: 'REASONIX_DEFAULT_MODLE is not known; did you mean REASONIX_DEFAULT_MODEL?' }]);
    expect(await folders.fault({ overrides: ['skills.lazy'] })).toMatchObject({ code: 'usage' });
    expect(await folders.fault({ overrides: ['=1'] })).toMatchObject({ code: 'usage' });
  });
});

describe('wrong values', () => {
  test.each([
    ['[skills]\nmax_depth = 9\n', 2, 'skills.max_depth: expected a whole number from 1 to 6, found 9'],
    ['[skills]\nlazy = "maybe"\n', 2, 'skills.lazy: expected true or false (also 1/0, on/off, yes/no), found "maybe"'],
    [
      '[skills]\n\nlist = { include = ["a"],\n style = "short" }\n',
      3,
      'skills.list.style: expected one of full, names, found "short"',
    ],
    ['[skills]\npaths = "one"\n', 2, 'skills.paths: expected a list of paths, found "one"'],
    ['[agent]\ntimeout = "soon"\n', 2, 'agent.timeout: expected a duration'],
    ['agent = 3\n', 1, 'agent is a section: expected a table [agent]'],
    ['[providers]\nname = "x"\n', 1, 'expected [[providers]] entries, each with a name'],
    ['[[providers]]\nkind = "openai"\n', 1, 'this [[providers]] entry has no name'],
    [
      '[[providers]]\nname = "x"\nkind = "azure"\n',
      3,
      'providers.x.kind: expected one of openai, responses, anthropic, scripted, found "azure"',
    ],
    [
      '[[providers]]\nname = "x"\nmodels = ["m"]\n',
      3,
      'provider "x" has no kind: set one of openai, responses, anthropic, scripted',
    ],
    [
      '[[providers]]\nname = "x"\nkind = "scripted"\n',
      3,
      'provider "x" is scripted, but has no script: name its YAML file',
    ],
    ['[[providers]]\nname = "x"\n', 1, 'the [[providers]] entry "x" sets nothing'],
    [
      '[[providers]]\nname = "x"\nkind = "openai"\n[[providers]]\nname = "x"\nkind = "openai"\n',
      5,
      'the name "x" is used twice in providers',
    ],
    [
      '[[providers]]\nname = "x"\nkind = "openai"\nbase_url = "localhost:80"\n',
      4,
      'providers.x.base_url: expected an http or https address, found "localhost:80"',
    ],
    [
      '[[providers]]\nname = "x"\nkind = "openai"\n[providers.prices."m.1"]\ninput = 1\n',
      5,
      'the price of "m.1" needs both input and output',
    ],
  ])('%j', async (text, line, message) => {
    const path = folders.write('project/reasonix.toml', text);
    expect((await folders.fault()).message).toContain(`project file ${path}, line ${line}: ${message}`);
  });

  test('all of them are told at once, with their places in the details', async () => {
    folders.write('project/reasonix.toml', '[skills]\nlazy = 3\nmax_depth = 0\n');
    folders.write('home/.reasonix/config.toml', '[agent]\nmax_depth = -1\n');
    const fault = await folders.fault({ env: { REQUIRED_SKILLS: 'x' } });
    expect(fault.message.split('\n')).toHaveLength(4);
    expect(fault.details.problems).toHaveLength(4);
    expect(fault.details.problems).toContainEqual(expect.objectContaining({ tier: 'user', line: 2 }));
  });

  test('a key in place of the name of its variable, and other secrets, do not appear in the message', async () => {
    const secret = 'sk-ant-0123456789';
    folders.write(
      'project/reasonix.toml',
      `[[providers]]\nname = "x"\nkind = "openai"\napi_key_env = "${secret}"\nheaders = { Authorization = ["${secret}"] }\n`,
    );
    expect(inspect(await folders.fault(), { depth: 9 })).not.toContain(secret);
    folders.write('project/reasonix.toml', `[[providers]]\nname = "x"\nbase_url = "ftp://u:${secret}@h/"\n`);
    expect(inspect(await folders.fault(), { depth: 9 })).not.toContain(secret);
    folders.write('project/reasonix.toml', `[[providers]]\nheaders = { Authorization = "${secret}" \n x\n`);
    expect(inspect(await folders.fault(), { depth: 9 })).not.toContain(secret);
    folders.write('project/reasonix.toml', '');
    expect(inspect(await folders.fault({ overrides: [`OPENAI_API_KEY=${secret}`] }), { depth: 9 })).not.toContain(
      secret,
    );
  });
});

describe('files that cannot be read', () => {
  test('broken TOML names line and column', async () => {
    const path = folders.write('project/reasonix.toml', '[skills]\nlazy = = true\n');
    const { message, code, hint } = await folders.fault();
    expect(code).toBe('config');
    expect(hint).toContain('texts stand in quotes');
    expect(message).toMatch(/^project file .*reasonix\.toml, line 2: not valid TOML, column \d+: \S/);
    expect(message).toContain(path);
    expect(message).not.toContain('\n');
  });

  test('a folder in place of a file', async () => {
    mkdirSync(join(folders.project, 'reasonix.toml'));
    expect((await folders.fault()).message).toMatch(/reasonix\.toml: is a folder, but a file is expected here/);
  });

  test('a link that leads in a circle', async () => {
    symlinkSync('reasonix.toml', join(folders.project, 'reasonix.toml'));
    expect((await folders.fault()).message).toMatch(/reasonix\.toml: cannot be read: its links lead in a circle/);
  });

  test.skipIf(process.getuid?.() === 0)('a file without permission', async () => {
    chmodSync(folders.write('home/.reasonix/config.toml', ''), 0);
    expect((await folders.fault()).message).toMatch(/user file .*config\.toml: cannot be read: permission denied/);
  });

  test('text that is not UTF-8', async () => {
    folders.write('project/.scorpiox/scorpiox-env.txt', new Uint8Array([0x41, 0x3d, 0xff, 0xfe]));
    expect((await folders.fault()).message).toMatch(/scorpiox-env\.txt: is not UTF-8 text/);
  });

  test('a --config that is not there', async () => {
    expect((await folders.fault({ configFile: 'gone.toml' })).message).toBe(
      `command line, --config: there is no file ${join(folders.project, 'gone.toml')}`,
    );
  });

  test('REASONIX_HOME is a file', async () => {
    const path = folders.write('afile', '');
    expect((await folders.fault({ env: { REASONIX_HOME: path } })).message).toMatch(
      /afile should be the folder of settings/,
    );
  });

  test('no home at all', async () => {
    expect(await folders.fault({ home: '' })).toMatchObject({
      code: 'config',
      hint: expect.stringContaining('REASONIX_HOME'),
    });
    const named = await folders.load({ home: '', env: { REASONIX_HOME: join(folders.root, 'r') } });
    expect(named.folders.reasonixHome).toBe(join(folders.root, 'r'));
  });

  test('a home that does not exist is an empty one', async () => {
    expect((await folders.load({ home: join(folders.root, 'nobody') })).files).toEqual([]);
  });

  test('a working folder that is a file', async () => {
    const file = folders.write('project/file', '');
    const message = `the working folder ${file} is a file`;
    expect((await folders.fault({ cwd: file })).message).toBe(message);
  });

  test('a working folder that is gone', async () => {
    const cwd = join(folders.root, 'gone');
    expect((await folders.fault({ cwd })).message).toBe(`the working folder ${cwd} does not exist`);
  });
});
