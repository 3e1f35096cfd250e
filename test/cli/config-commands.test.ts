import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bundleTs } from '../helpers/bundle-ts.ts';
import { built, Workplace } from './workplace.ts';

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace();
});
afterEach(() => place.remove());

describe('config', () => {
  test('get --json names value, tier and file', async () => {
    const get = (env = {}) => place.json(['config', 'get', 'skills.lazy', '--json'], { env });
    expect(await get()).toEqual({ key: 'skills.lazy', value: false, tier: 'default', path: null });
    expect(await get({ TOOL_SEARCHSKILLS: '1' })).toEqual({
      key: 'skills.lazy',
      value: true,
      tier: 'environment',
      path: null,
    });
    const file = place.write('reasonix.toml', '[skills]\nlazy = true\n');
    expect(await get()).toEqual({ key: 'skills.lazy', value: true, tier: 'project', path: file });
    expect(await place.json(['config', 'get', 'skills.lazy', '--json', '-e', 'skills.lazy=off'])).toMatchObject({
      value: false,
      tier: 'flag',
    });
  });

  test('get prints the bare value', async () => {
    expect(await place.run(['config', 'get', 'agent.max_depth'])).toMatchObject({ code: 0, stdout: '3\n', stderr: '' });
  });

  test('set writes, keeps comments, and says when another place wins', async () => {
    const file = place.write('reasonix.toml', '# mine\n[agent]\nmax_depth = 2 # two\n');
    expect(await place.run(['config', 'set', 'agent.max_depth', '4'])).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).toBe('# mine\n[agent]\nmax_depth = 4 # two\n');
    const overruled = await place.run(['config', 'set', 'agent.max_depth', '5'], {
      env: { REASONIX_AGENT__MAX_DEPTH: '1' },
    });
    expect(overruled.stderr).toContain('environment still wins');
    expect(await place.run(['config', 'set', 'agent.max_depth', ''])).toMatchObject({ code: 0 });
    expect(await place.json(['config', 'get', 'agent.max_depth', '--json'])).toMatchObject({
      value: 3,
      tier: 'default',
    });
  });

  test('set takes values that begin with a dash after --', async () => {
    expect(await place.run(['config', 'set', 'agent.max_depth', '-1'])).toMatchObject({ code: 2 });
    expect((await place.run(['config', 'set', '--', 'agent.max_depth', '-1'])).stderr).toContain('agent.max_depth');
  });

  test('list and explain show where values come from', async () => {
    place.write('reasonix.toml', '[skills]\nlazy = true\n');
    expect((await place.run(['config', 'list'])).stdout).toMatch(/^skills\.lazy +true +project .*reasonix\.toml$/m);
    const { stdout } = await place.run(['config', 'explain', 'TOOL_SEARCHSKILLS']);
    expect(stdout).toContain('skills.lazy = true');
    expect(stdout).toMatch(/^\* +project +true +.*reasonix\.toml:2$/m);
  });

  test('secrets never show', async () => {
    place.write(
      'reasonix.toml',
      '[[providers]]\nname = "p"\nkind = "openai"\nmodels = ["m"]\n[providers.headers]\nX-Api-Key = "sk-very-secret-value"\n',
    );
    for (const args of [
      ['config', 'list'],
      ['config', 'list', '--json'],
      ['config', 'get', 'providers', '--json'],
      ['doctor'],
    ]) {
      const { stdout, stderr } = await place.run(args);
      expect(stdout + stderr).not.toContain('very-secret');
    }
  });
});

describe('what is wrong in a file is named with file, line, key and the nearest key', () => {
  test.each([
    ['[skills]\nlazi = true\n', ['reasonix.toml, line 2', 'skills.lazi', 'skills.lazy']],
    ['[skills]\nlazy = "perhaps"\n', ['reasonix.toml, line 2', 'true or false']],
    ['[skills\nlazy = true\n', ['reasonix.toml, line 1']],
  ])('%j', async (toml, parts) => {
    place.write('reasonix.toml', toml);
    for (const args of [
      ['skill', 'list'],
      ['run', 'x'],
      ['config', 'list'],
      ['session', 'list'],
    ]) {
      const { code, stdout, stderr } = await place.run(args);
      expect([args, code, stdout]).toEqual([args, 2, '']);
      for (const part of parts) expect(stderr).toContain(part);
    }
    const json = await place.run(['skill', 'list', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ code: 'config' });
  });
});

describe('doctor and init', () => {
  test('doctor finds a whole installation in order, without showing keys', async () => {
    const { code, stdout } = await place.run(['doctor'], { env: { ANTHROPIC_API_KEY: 'sk-ant-do-not-show' } });
    expect(stdout).toContain('ANTHROPIC_API_KEY is set');
    expect(stdout).not.toContain('do-not-show');
    expect(stdout).toMatch(/✓ store/);
    expect(stdout).toMatch(/✓ ripgrep/);
    expect(code).toBe(0);
  });

  test('doctor starts the servers that may run, and names hooks and what waits to be allowed', async () => {
    const program = await bundleTs(new URL('../helpers/mcp-server.js', import.meta.url));
    const server = (name: string, mode: string) =>
      `[[mcp]]\nname = "${name}"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["${program}", "${mode}"]\n`;
    place.write('../home/.reasonix/config.toml', server('good', 'plain') + server('bad', 'broken'));
    place.write('reasonix.toml', `[[hooks]]\nname = "late"\non = ["turn_end"]\ncommand = "true"\n`);
    const env = { ANTHROPIC_API_KEY: 'x' };
    const told = async (): Promise<string[]> => {
      const { stdout } = await place.run(['doctor', '--json'], { env });
      const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; found: string }[] };
      return checks
        .filter(({ name }) => /mcp|hook/.test(name))
        .map(({ name, state, found }) => `${name} ${state} ${found}`);
    };
    const servers = [
      expect.stringMatching(/^mcp ok good: ready, \d+ tools$/),
      expect.stringMatching(/^mcp note bad: did not start: .*no licence found/s),
    ];
    expect(await told()).toEqual([...servers, expect.stringMatching(/^hook note late: .*not started/)]);
    const trust = await place.run(['config', 'trust', '--json', '--yes'], { env });
    expect(JSON.parse(trust.stdout)).toMatchObject({ commands: [{ name: 'late', isTrusted: true }] });
    const again = await place.run(['config', 'trust', '--json', '--yes'], { env });
    expect(JSON.parse(again.stdout)).toMatchObject({ commands: [{ name: 'late', isTrusted: true }] });
    expect(await told()).toEqual([...servers, 'hook ok late: true (at turn_end)']);
  });

  test('doctor ends with 1 when something is broken, and says what to do', async () => {
    place.write(
      'reasonix.toml',
      'default_model = "p/m"\n[[providers]]\nname = "p"\nkind = "openai"\nmodels = ["m"]\napi_key_env = "P_KEY"\n',
    );
    const missing = await place.run(['doctor']);
    expect(missing.code).toBe(1);
    expect(missing.stdout).toContain('P_KEY');
    const report = await place.run(['doctor', '--json']);
    expect(JSON.parse(report.stdout)).toMatchObject({ ok: false });
    place.write('reasonix.toml', 'nonsense\n');
    const wrong = await place.run(['doctor']);
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toMatch(/✗ configuration[\s\S]*reasonix\.toml, line 1/);
  });

  test.skipIf(process.getuid?.() === 0)('doctor says when the home cannot be written', async () => {
    mkdirSync(place.reasonixHome);
    chmodSync(place.reasonixHome, 0o500);
    const { code, stdout } = await place.run(['doctor'], { env: { ANTHROPIC_API_KEY: 'x' } });
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ home/);
    chmodSync(place.reasonixHome, 0o700);
  });

  test('init writes settings that hold and a skill that is listed, and overwrites nothing', async () => {
    const env = { OPENAI_API_KEY: 'sk-test' };
    const { code, stdout } = await place.run(['init'], { env });
    expect(code).toBe(0);
    expect(stdout.match(/^wrote /gm)).toHaveLength(2);
    const toml = readFileSync(join(place.project, 'reasonix.toml'), 'utf8');
    expect(toml).toContain('api_key_env = "OPENAI_API_KEY"');
    expect(toml).not.toContain('sk-test');
    expect(await place.run(['doctor'], { env })).toMatchObject({ code: 0 });
    expect((await place.run(['skill', 'list'])).stdout).toMatch(/^overview +subagent +project/m);

    writeFileSync(join(place.project, 'reasonix.toml'), '# changed\n');
    const again = await place.run(['init'], { env });
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(join(place.project, 'reasonix.toml'), 'utf8')).toBe('# changed\n');
  });

  test('init without any provider leaves lines to fill in, which hold once they are', async () => {
    await place.run(['init'], { env: {} });
    const file = join(place.project, 'reasonix.toml');
    const toml = readFileSync(file, 'utf8');
    expect(await place.run(['config', 'list'])).toMatchObject({ code: 0 });
    if (!toml.includes('# [[providers]]')) return;
    writeFileSync(file, toml.replace(/^# (default_model|\[\[|name|kind|base_url|models|api_key_env)/gm, '$1'));
    expect(await place.json(['config', 'get', 'default_model', '--json'])).toMatchObject({
      value: 'my-server/my-model',
    });
  });
});
