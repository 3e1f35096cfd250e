import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { explainKey, getKey, listKeys } from '../../src/config/explain.ts';
import { isSecretName, maskAddresses } from '../../src/config/mask.ts';
import { TestFolders } from './folders.ts';

let folders: TestFolders;
beforeEach(() => {
  folders = new TestFolders();
});
afterEach(() => folders.remove());

describe('get', () => {
  test('has the four fields, in any spelling of the key', async () => {
    const path = folders.write('project/.scorpiox/scorpiox-env.txt', 'TOOL_SEARCHSKILLS=1\n');
    const loaded = await folders.load();
    for (const name of ['skills.lazy', 'TOOL_SEARCHSKILLS', 'REASONIX_SKILLS__LAZY']) {
      expect(getKey(loaded, name)).toEqual({ key: 'skills.lazy', value: true, tier: 'project', path });
    }
    expect(getKey(loaded, 'agent.timeout')).toEqual({ key: 'agent.timeout', value: null, tier: 'default', path: null });
    expect(getKey(await folders.load({ env: { TOOL_SEARCHSKILLS: '0' } }), 'skills.lazy')).toEqual({
      key: 'skills.lazy',
      value: false,
      tier: 'environment',
      path: null,
    });
  });

  test('a section gives what is in it', async () => {
    folders.write(
      'home/.reasonix/config.toml',
      '[[providers]]\nname = "a.b"\nkind = "openai"\nheaders = { X = "secret" }\n[agent.subagent_models]\nx = "y"\n',
    );
    const loaded = await folders.load();
    expect(getKey(loaded, 'agent.subagent_models')).toMatchObject({ value: { x: 'y' }, tier: 'user' });
    expect(getKey(loaded, 'providers').value).toEqual([{ name: 'a.b', kind: 'openai', headers: { X: '***' } }]);
    expect(getKey(loaded, 'providers."a.b".kind').value).toBe('openai');
    expect(getKey(loaded, 'skills.required').value).toMatchObject({ policy: 'inject', max_nudges: 3 });
  });

  test('an unknown key is a usage error that names the nearest', async () => {
    const loaded = await folders.load();
    expect(() => getKey(loaded, 'skills.lzy')).toThrow(/unknown key skills.lzy; the nearest valid key is skills.lazy/);
    expect(() => getKey(loaded, 'what ever')).toThrow(expect.objectContaining({ code: 'usage' }));
  });
});

test('list has every key, those with names of the user when they are set', async () => {
  folders.write('home/.reasonix/config.toml', '[agent.subagent_models]\nx = "y"\n');
  const entries = listKeys(await folders.load());
  const keys = entries.map(({ key }) => key);
  expect(keys).toContain('agent.subagent_models.x');
  expect(keys).toContain('store.path');
  expect(keys.filter((key) => key.includes('*'))).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);
});

describe('explain', () => {
  test('shows every place, the winner first, with names and default', async () => {
    const user = folders.write('home/.reasonix/config.toml', '\n[skills]\nlazy = false\n');
    const explained = explainKey(await folders.load({ env: { TOOL_SEARCHSKILLS: '1' } }), 'TOOL_SEARCHSKILLS');
    expect(explained).toMatchObject({
      key: 'skills.lazy',
      value: true,
      tier: 'environment',
      default: false,
      names: ['REASONIX_SKILLS__LAZY', 'TOOL_SEARCHSKILLS'],
    });
    const none = { path: null, line: null, name: null, added: false };
    expect(explained.values).toEqual([
      { ...none, tier: 'environment', name: 'TOOL_SEARCHSKILLS', value: true, wins: true },
      { ...none, tier: 'user', path: user, line: 3, value: false, wins: false },
      { ...none, tier: 'default', value: false, wins: false },
    ]);
  });

  test('shows lists that are added', async () => {
    folders.write('project/reasonix.toml', '[skills]\npaths = ["/p"]\ndisabled_skills = ["x"]\n');
    const loaded = await folders.load({ env: { ADDITIONAL_SKILLS: '/a', SKILL_CREATE_SKILL: '0' } });
    expect(explainKey(loaded, 'skills.paths').values).toMatchObject([
      { tier: 'environment', value: ['/a'], added: true, wins: true },
      { tier: 'project', value: ['/p'], added: false, wins: true },
      { tier: 'default', wins: false },
    ]);
    expect(explainKey(loaded, 'SKILL_CREATE_SKILL')).toMatchObject({
      value: ['x', 'create-skill'],
      values: [{ value: ['create-skill'], added: true, wins: true }, { value: ['x'], wins: true }, {}],
    });
  });

  test('a section cannot be explained', async () => {
    const loaded = await folders.load();
    expect(() => explainKey(loaded, 'skills.list')).toThrow(/is a section/);
  });
});

describe('secrets', () => {
  test('are masked wherever a value is shown', async () => {
    folders.write(
      'project/reasonix.toml',
      '[[providers]]\nname = "x"\nkind = "openai"\nbase_url = "https://user:pass-1@h/v1?api_key=pass-2&v=1"\nheaders = { Authorization = "Bearer pass-3", X-Org = "pass-4" }\n',
    );
    const loaded = await folders.load();
    const shown = JSON.stringify([
      listKeys(loaded),
      getKey(loaded, 'providers'),
      explainKey(loaded, 'providers.x.base_url'),
      explainKey(loaded, 'providers.x.headers.X-Org'),
    ]);
    expect(shown).not.toMatch(/pass-\d/);
    expect(shown).toContain('https://***@h/v1?api_key=***&v=1');
    expect(loaded.config.providers[0]?.headers?.Authorization).toBe('Bearer pass-3');
  });

  test('by name', () => {
    for (const name of [
      'OPENAI_API_KEY',
      'GITHUB_TOKEN',
      'X-Auth-Token',
      'db_password',
      'AWS_SECRET',
      'apiKey',
      'Authorization',
      'key',
    ]) {
      expect(isSecretName(name), name).toBe(true);
    }
    for (const name of ['PATH', 'HOME', 'MONKEY', 'KEYBOARD', 'TOKENIZER', 'max_tokens'])
      expect(isSecretName(name), name).toBe(false);
    expect(maskAddresses('postgres://u:p@h/d')).toBe('postgres://***@h/d');
    expect(maskAddresses('see https://h/?a=1#b and a@b.c')).toBe('see https://h/?a=1#b and a@b.c');
  });
});
