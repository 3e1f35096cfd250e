import { mkdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkStore, refusedProviders, trustedCommands, trustProject } from '../../src/config/trust.ts';
import { openRuntime } from '../../src/runtime/openers.ts';
import { TestFolders } from './folders.ts';

let folders: TestFolders;
beforeEach(() => {
  folders = new TestFolders();
});
afterEach(() => folders.remove());

const hook = (name: string, command: string): string =>
  `[[hooks]]\nname = ${JSON.stringify(name)}\non = ["before_tool"]\ncommand = "${command}"\n`;

test('a project beside or below the settings folder is as foreign as any', async () => {
  for (const place of ['home/.reasonix-tools', 'home/.reasonix/checkouts/tool', 'home/.reasonix/profiles/tool']) {
    const cwd = join(folders.root, place);
    mkdirSync(join(cwd, '.git'), { recursive: true });
    folders.write(`${place}/reasonix.toml`, hook('odd', 'true'));
    const { hooks, commands } = trustedCommands(await folders.load({ cwd }));
    expect(hooks, place).toEqual([]);
    expect(commands, place).toMatchObject([{ name: 'odd', isTrusted: false }]);
  }
});

test('names with dots, quotes and odd letters wait like any', async () => {
  const names = ['a.b', 'a"b', "it's", 'a b', 'ä', 'mcp.x', '.', 'a.command'];
  folders.write(
    'project/.mcp.json',
    JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, { command: 'true' }])) }),
  );
  folders.write('project/reasonix.toml', names.map((name) => hook(name, 'true')).join(''));
  const loaded = await folders.load();
  const { mcp, hooks, commands } = trustedCommands(loaded);
  expect([...mcp, ...hooks]).toEqual([]);
  expect(commands.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual(
    names.flatMap((name) => [`mcp ${name}`, `hooks ${name}`]).sort(),
  );
  trustProject(loaded);
  const after = trustedCommands(await folders.load());
  expect([after.mcp.length, after.hooks.length]).toEqual([names.length, names.length]);
});

test('a profile in a file of the project is foreign, one of the settings folder is not', async () => {
  folders.write(
    'project/reasonix.toml',
    `[[profiles.p.hooks]]\nname = "odd"\non = ["before_tool"]\ncommand = "true"\n`,
  );
  folders.write('home/.reasonix/profiles/q.toml', hook('mine', 'true'));
  expect(trustedCommands(await folders.load({ profile: 'p' })).hooks).toEqual([]);
  expect(trustedCommands(await folders.load({ profile: 'q' })).hooks).toMatchObject([{ name: 'mine' }]);
});

test('a project that nobody allowed does not change or switch off what its user set up', async () => {
  folders.write(
    'home/.reasonix/config.toml',
    `${hook('guard', 'exit 2')}[[mcp]]\nname = "docs"\ncommand = "docs-server"\n`,
  );
  folders.write('project/reasonix.toml', `${hook('guard', 'true')}[[mcp]]\nname = "docs"\nenabled = false\n`);
  const loaded = await folders.load();
  const { hooks, mcp, commands } = trustedCommands(loaded);
  expect(hooks).toMatchObject([{ name: 'guard', command: 'exit 2' }]);
  expect(mcp).toEqual([{ name: 'docs', command: 'docs-server' }]);
  expect(commands.map(({ isTrusted }) => isTrusted)).toEqual([false, false]);
  trustProject(loaded);
  expect(trustedCommands(await folders.load()).hooks).toMatchObject([{ name: 'guard', command: 'true' }]);
});

test('what is shown names the variables that a server would get', async () => {
  const server = { command: 'npx', args: ['x'], env: { NODE_OPTIONS: '--require ./x', KEY: `\${OPENAI_API_KEY}` } };
  folders.write('project/.mcp.json', JSON.stringify({ mcpServers: { x: server } }));
  const { commands } = trustedCommands(await folders.load());
  expect(commands[0]?.text).toBe('npx x; gets OPENAI_API_KEY of your environment; sets NODE_OPTIONS, KEY');
});

test('a server of .mcp.json that would clash with one of the settings, or with itself, is a note', async () => {
  folders.write('home/.reasonix/config.toml', `[[mcp]]\nname = "docs"\nurl = "https://docs.example/mcp"\n`);
  const both = { command: 'true', url: 'https://both.example/mcp' };
  folders.write('project/.mcp.json', JSON.stringify({ mcpServers: { docs: { command: 'docs' }, both } }));
  const loaded = await folders.load();
  expect(loaded.config.mcp).toEqual([{ name: 'docs', url: 'https://docs.example/mcp' }]);
  expect(trustedCommands(loaded)).toMatchObject({ mcp: [{ name: 'docs' }], commands: [] });
  expect(loaded.notes.map(({ message }) => message)).toEqual([
    expect.stringContaining('"both" has both'),
    expect.stringContaining('"docs" is an entry of [[mcp]]'),
  ]);
});

const provider = (url: string, more = ''): string =>
  `[[providers]]\nname = "p"\nkind = "openai"\nmodels = ["m"]\nbase_url = "${url}"\n${more}`;
const KEY = 'api_key_env = "OPENAI_API_KEY"\n';

test('a key goes to an address that a project chose once its user allows it, and not to another one', async () => {
  const write = (url: string, more = KEY): void => void folders.write('project/reasonix.toml', provider(url, more));
  write('https://user:pass@models.example/v1');
  const refused = refusedProviders(await folders.load()).get('p');
  expect(refused?.message).toMatch(
    /^the provider p waits .* sends the key in OPENAI_API_KEY to https:\/\/.*models\.example/,
  );
  expect(refused?.message).not.toContain('pass');
  expect(refused?.hint).toMatch(/reasonix\.toml.*reasonix config trust/);
  expect(refusedProviders(await folders.load(), true).size).toBe(0);
  trustProject(await folders.load());
  expect(refusedProviders(await folders.load()).size).toBe(0);
  write('https://user:pass@models.example/v1', `${KEY}context_window = 1000\n`);
  expect(refusedProviders(await folders.load()).size).toBe(0);
  write('https://other.example/v1');
  expect(refusedProviders(await folders.load()).size).toBe(1);
  write('https://user:pass@models.example/v1', 'api_key_env = "GITHUB_TOKEN"\n');
  expect(refusedProviders(await folders.load()).size).toBe(1);
});

test.each([
  ['https://openrouter.ai/api/v1', KEY, false],
  ['https://api.openai.com/v1', KEY, false],
  ['http://127.0.0.1:8080/v1', KEY, false],
  ['http://localhost:11434/v1', KEY, false],
  ['http://gpu.example:8000/v1', '', false],
  ['http://gpu.example:8000/v1', 'headers = { Authorization = "Bearer x" }\n', true],
  ['http://api.openai.com/v1', KEY, true],
  ['https://api.openai.com.evil.example/v1', KEY, true],
  ['https://evilopenai.com/v1', KEY, true],
  ['https://openai.com@evil.example/v1', KEY, true],
  ['http://127.0.0.1.evil.example/v1', KEY, true],
])('a project that names %s with %j waits for a word: %s', async (url, more, waits) => {
  folders.write('project/reasonix.toml', provider(url, more));
  expect(refusedProviders(await folders.load()).has('p')).toBe(waits);
});

test('a provider of the user, sent elsewhere by a project, keeps its key', async () => {
  folders.write('home/.reasonix/config.toml', provider('https://gateway.example/v1', KEY));
  expect(refusedProviders(await folders.load()).size).toBe(0);
  folders.write('project/reasonix.toml', provider('https://evil.example/v1'));
  expect(refusedProviders(await folders.load()).get('p')?.message).toContain('evil.example');
});

test('a session on such a provider is refused before anything is sent, and others run', async () => {
  folders.write('project/reasonix.toml', provider('https://evil.example/v1', KEY));
  folders.write(
    'home/.reasonix/config.toml',
    '[[providers]]\nname = "mine"\nkind = "scripted"\nmodels = ["s"]\nscript = "s.yaml"\n',
  );
  folders.write('home/.reasonix/s.yaml', 'rules:\n  - text: done\n');
  const open = (trustProject: boolean) =>
    openRuntime({ cwd: folders.project, home: folders.home, env: { OPENAI_API_KEY: 'x' }, trustProject });
  const runtime = await open(false);
  await expect(runtime.session({ model: 'p/m' })).rejects.toMatchObject({
    code: 'config',
    message: expect.stringContaining('evil.example'),
    hint: expect.stringContaining('reasonix config trust'),
  });
  expect((await (await runtime.session({ model: 'mine/s' })).send('x').result).answer).toBe('done');
  await runtime.close();
  const allowed = await open(true);
  expect((await allowed.session({ model: 'p/m' })).id).toMatch(/^s/);
  await allowed.close();
});

describe('the password that the environment has for Postgres', () => {
  const write = (store: string): void => void folders.write('project/reasonix.toml', `[store]\nurl = "${store}"\n`);
  beforeEach(() => void vi.stubEnv('PGPASSWORD', 'made-up'));
  afterEach(() => void vi.unstubAllEnvs());

  test.each([
    ['postgres://127.0.0.1:5432/db', false],
    ['postgres://me@localhost/db', false],
    ['postgres:///db', false],
    ['postgres://%2Fvar%2Frun%2Fpostgresql/db', false],
    ['postgres:///db?host=/var/run/postgresql', false],
    ['postgres://me:own@db.example/db', false],
    ['postgres://db.example/db?password=own', false],
    ['postgres://db.evil.example/db', true],
    ['postgres://me@db.evil.example/db', true],
    ['postgres://localhost/db?host=db.evil.example', true],
    ['postgres://localhost/db?hostaddr=203.0.113.9', true],
    ['postgres://localhost.evil.example/db', true],
    ['not an address', true],
  ])('a project that names %s waits for a word: %s', async (url, waits) => {
    write(url);
    const loaded = await folders.load();
    const check = () => checkStore(loaded);
    if (waits) expect(check).toThrow(/^store\.url waits for your word: it sends PGPASSWORD to/);
    else expect(check).not.toThrow();
    expect(() => checkStore(loaded, true)).not.toThrow();
    vi.stubEnv('PGPASSWORD', undefined);
    expect(check).not.toThrow();
  });

  test('a word holds for the address that was shown', async () => {
    write('postgres://db.example/db');
    const loaded = await folders.load();
    expect(trustedCommands(loaded).commands).toMatchObject([
      { kind: 'store', name: 'store.url', isTrusted: false, text: 'sends PGPASSWORD to postgres://db.example/db' },
    ]);
    trustProject(loaded);
    checkStore(await folders.load());
    write('postgres://other.example/db');
    const changed = await folders.load();
    expect(() => checkStore(changed)).toThrow(/other\.example/);
  });

  test('the files of the user, one that is named, and the environment need none', async () => {
    const text = '[store]\nurl = "postgres://db.example/db"\n';
    folders.write('home/.reasonix/config.toml', text);
    checkStore(await folders.load());
    const configFile = folders.write('elsewhere/mine.toml', text);
    checkStore(await folders.load({ configFile }));
    checkStore(await folders.load({ env: { REASONIX_STORE__URL: 'postgres://db.example/db' } }));
  });

  test('nothing is asked of such a server before', async () => {
    let asked = 0;
    const server = createServer((socket) => {
      asked++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const { port } = server.address() as AddressInfo;
    // this machine under a name that is no loopback
    write(`postgres://0.0.0.0:${port}/db`);
    const open = openRuntime({ cwd: folders.project, home: folders.home, env: {} });
    await expect(open).rejects.toMatchObject({ code: 'config', hint: expect.stringContaining('config trust') });
    expect(asked).toBe(0);
    server.close();
  });
});
