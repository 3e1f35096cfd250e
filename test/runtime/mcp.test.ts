import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { mcpToolName } from '../../src/tools/mcp/tools.ts';
import { bundleTs } from '../helpers/bundle-ts.ts';
import { freePort } from '../helpers/free-port.ts';
import { call, workshop } from './workshop.ts';

const SERVER = await bundleTs(new URL('../helpers/mcp-server.js', import.meta.url));

/** An `[[mcp]]` entry that starts the test's server. */
function entry(name: string, mode = 'plain', more = ''): string {
  const args = JSON.stringify([SERVER, ...mode.split(' ')]);
  return `[[mcp]]\nname = "${name}"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\n${more}\n`;
}

const lastResult = (messages: readonly { role: string; content?: string }[]): string =>
  messages.findLast(({ role }) => role === 'tool')?.content ?? '';

test('a session has the tools of a server, calls them, and gives the answer to the model', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('calc'));
  const { runtime, model } = await shop.open(
    ({ messages }) =>
      messages.length === 1
        ? { calls: [call('mcp__calc__add', { a: 2, b: 3 })] }
        : { text: `the sum is ${lastResult(messages)}` },
    { trustProject: true },
  );
  const { answer } = await (await runtime.session()).send('add').result;
  expect(answer).toBe('the sum is 5');
  const tool = model.requests[0]?.tools.find(({ name }) => name === 'mcp__calc__add');
  expect(tool).toMatchObject({ description: 'Adds two numbers.', parameters: { required: ['a', 'b'] } });
});

test('what a project asks to run waits until somebody allows it, and again after a change', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('calc'));
  const problems: string[] = [];
  const open = () => shop.open(() => ({ text: 'done' }), { onProblem: (text) => problems.push(text) });
  const first = await open();
  await (await first.runtime.session()).send('x').result;
  expect(first.model.requests[0]?.tools.some(({ name }) => name.startsWith('mcp__'))).toBe(false);
  expect(problems).toEqual([expect.stringMatching(/mcp\.calc.*reasonix config trust/)]);

  const { loadConfig } = await import('../../src/config/cascade.ts');
  const { trustProject } = await import('../../src/config/trust.ts');
  const load = () => loadConfig({ cwd: shop.cwd, home: shop.home, env: {} });
  expect(trustProject(await load())).toMatchObject([{ kind: 'mcp', name: 'calc' }]);
  const second = await open();
  await (await second.runtime.session()).send('x').result;
  expect(second.model.requests[0]?.tools.some(({ name }) => name === 'mcp__calc__add')).toBe(true);

  shop.write('reasonix.toml', entry('calc', 'plain other'));
  const third = await open();
  await (await third.runtime.session()).send('x').result;
  expect(third.model.requests[0]?.tools.some(({ name }) => name.startsWith('mcp__'))).toBe(false);
});

test('.mcp.json is read; what cannot be used in it is a note', async () => {
  const shop = workshop();
  shop.write(
    '.mcp.json',
    JSON.stringify({
      mcpServers: {
        calc: { command: process.execPath, args: [SERVER], env: { DOCS_TOKEN: ['$', '{TOKEN:-none}'].join('') } },
        odd: { type: 'sse', url: 'http://127.0.0.1:1/' },
      },
    }),
  );
  const { runtime } = await shop.open(
    ({ messages }) =>
      messages.length === 1 ? { calls: [call('mcp__calc__secret', {})] } : { text: lastResult(messages) },
    { trustProject: true, yes: true, env: { TOKEN: 'made-up-value', PATH: process.env.PATH } },
  );
  expect((await (await runtime.session()).send('x').result).answer).toMatch(/made-up-value|\*\*\*/);
});

test('a write of a server needs a permission; what only reads does not', async () => {
  const shop = workshop();
  const file = join(shop.cwd, 'notes.txt');
  shop.write('reasonix.toml', entry('calc', `plain ${file}`));
  const script = ({ messages }: { messages: readonly { role: string; content?: string }[] }) =>
    messages.length === 1 ? { calls: [call('mcp__calc__note', { line: 'hello' })] } : { text: lastResult(messages) };
  const refused = await shop.open(script, { trustProject: true });
  expect((await (await refused.runtime.session()).send('x').result).answer).toMatch(/approval/);
  expect(existsSync(file)).toBe(false);
  const allowed = await shop.open(script, { trustProject: true, allow: ['mcp__calc__*'] });
  expect((await (await allowed.runtime.session()).send('x').result).answer).toBe('noted');
  expect(readFileSync(file, 'utf8')).toBe('hello\n');
});

test('a server that dies, hangs, floods or fails is a result, and the next call works', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('calc', 'banner', 'call_timeout = "5s"'));
  const results: string[] = [];
  const calls = ['die', 'add', 'hang', 'flood', 'add', 'fail'];
  const { runtime } = await shop.open(
    ({ messages }) => {
      if (messages.length > 1) results.push(lastResult(messages));
      const next = calls[results.length];
      return next === undefined
        ? { text: 'survived' }
        : { calls: [call(`mcp__calc__${next}`, next === 'add' ? { a: 20, b: 22 } : {})] };
    },
    { trustProject: true, yes: true },
  );
  expect((await (await runtime.session()).send('x').result).answer).toBe('survived');
  expect(results).toEqual([
    expect.stringMatching(/calc failed to run die/),
    '42',
    expect.stringMatching(/did not answer hang within 5 s/),
    expect.stringMatching(/calc failed to run flood/),
    '42',
    'it is broken',
  ]);
}, 40_000);

test('a server that does not start stops nothing, and says what it complained of', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('good') + entry('bad', 'broken'));
  const { runtime, model } = await shop.open(() => ({ text: 'done' }), { trustProject: true });
  const { status } = await (await runtime.session()).send('x').result;
  expect(status).toBe('completed');
  expect(model.requests[0]?.tools.map(({ name }) => name)).toContain('mcp__good__add');
  expect(runtime.mcpStatus()).toEqual([
    { name: 'good', state: 'ready', tools: expect.any(Number), problem: '' },
    { name: 'bad', state: 'failed', tools: 0, problem: expect.stringMatching(/no licence found/) },
  ]);
});

test('tools of a server that is late are announced and called by name; the prompt stays as it was', async () => {
  const shop = workshop();
  const file = join(shop.cwd, 'go');
  shop.write('reasonix.toml', `[tools]\nmcp_wait = "50ms"\n${entry('slow', `late ${file}`)}`);
  const { runtime, model } = await shop.open(
    ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { text: last.content };
      const isThere = messages.some((message) => message.role === 'user' && /mcp__slow__add/.test(message.content));
      return isThere
        ? { calls: [call('call_tool', { name: 'mcp__slow__add', arguments: { a: 1, b: 1 } })] }
        : { text: 'not yet' };
    },
    { trustProject: true, yes: true },
  );
  const session = await runtime.session();
  expect((await session.send('first').result).answer).toBe('not yet');
  writeFileSync(file, '');
  while (runtime.mcpStatus()[0]?.state !== 'ready') await new Promise((resolve) => setTimeout(resolve, 20));
  expect((await session.send('second').result).answer).toBe('2');
  const [first, last] = [model.requests[0], model.requests.at(-1)];
  expect(last?.tools).toEqual(first?.tools);
  expect(last?.messages.slice(0, 1)).toEqual(first?.messages);
});

test('a tool that a server adds in the middle of a session is announced, and called by name', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('calc'));
  const { runtime, model } = await shop.open(
    ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === 'tool') return { text: last.content };
      const isThere = messages.some((message) => message.role === 'user' && /mcp__calc__grown/.test(message.content));
      return { calls: [isThere ? call('call_tool', { name: 'mcp__calc__grown' }) : call('mcp__calc__grow', {})] };
    },
    { trustProject: true, yes: true },
  );
  const session = await runtime.session();
  const before = runtime.mcpStatus()[0]?.tools;
  expect((await session.send('grow').result).answer).toBe('ok');
  while (runtime.mcpStatus()[0]?.tools === before) await new Promise((resolve) => setTimeout(resolve, 20));
  expect((await session.send('use it').result).answer).toBe('grown up');
  expect(model.requests.at(-1)?.tools).toEqual(model.requests[0]?.tools);
});

test('many tools stand behind search_tools; permissions see the tool that is called', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('big', 'many'));
  const { runtime, model } = await shop.open(
    ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role !== 'tool') return { calls: [call('search_tools', { query: 'invoice' })] };
      if (!last.content.startsWith('{')) return { text: last.content };
      const { tools } = JSON.parse(last.content) as { tools: { name: string }[] };
      return { calls: [call('call_tool', { name: tools[0]?.name, arguments: {} })] };
    },
    { trustProject: true, allow: ['mcp__big__task_77_invoice'] },
  );
  expect((await (await runtime.session()).send('x').result).answer).toBe('task_77_invoice');
  const request = model.requests[0];
  expect(request?.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['search_tools', 'call_tool']));
  expect(request?.tools.some(({ name }) => name.startsWith('mcp__'))).toBe(false);
  expect(JSON.stringify(request?.tools).length).toBeLessThan(12_000);

  const denied = await shop.open(
    ({ messages }) =>
      messages.length <= 2 && messages.at(-1)?.role === 'user'
        ? { calls: [call('call_tool', { name: 'mcp__big__task_3', arguments: {} })] }
        : { text: lastResult(messages) },
    { trustProject: true },
  );
  expect((await (await denied.runtime.session()).send('x').result).answer).toMatch(/mcp__big__task_3.*approval/s);
});

test('F28 a skill that names a tool of a server gets it; a server of some skills is theirs alone', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('calc', 'plain', 'skills = ["adder"]'));
  shop.skill('adder', { runAs: 'subagent', 'allowed-tools': 'read_file mcp__calc__add' }, 'Add.');
  const { runtime, model } = await shop.open(
    ({ skill, messages }) => {
      if (skill !== 'adder') {
        return messages.length === 1
          ? { calls: [call('run_skill', { name: 'adder', arguments: '2 and 2' })] }
          : { text: lastResult(messages).split('\n').at(-1) ?? '' };
      }
      return messages.length === 1
        ? { calls: [call('mcp__calc__add', { a: 2, b: 2 })] }
        : { text: lastResult(messages) };
    },
    { trustProject: true },
  );
  expect((await (await runtime.session()).send('x').result).answer).toBe('4');
  const names = (skill: string | undefined) =>
    model.requests.find((request) => request.skill === skill)?.tools.map(({ name }) => name) ?? [];
  expect(names(undefined).some((name) => name.startsWith('mcp__'))).toBe(false);
  expect(names('adder').sort()).toEqual(['mcp__calc__add', 'read_file', 'read_result']);
});

test('a session goes on in another process with the same tools', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('calc'));
  const script = ({ messages }: { messages: readonly { role: string; content?: string }[] }) =>
    messages.at(-1)?.role === 'user'
      ? { calls: [call('mcp__calc__add', { a: messages.length, b: 0 })] }
      : { text: lastResult(messages) };
  const first = await shop.open(script, { trustProject: true });
  const session = await first.runtime.session();
  expect((await session.send('x').result).answer).toBe('1');
  await first.runtime.close();
  const second = await shop.open(script, { trustProject: true });
  expect((await (await second.runtime.session({ resume: session.id })).send('y').result).answer).toBe('5');
  expect(second.model.requests[0]?.tools).toEqual(first.model.requests[0]?.tools);
});

test('a long result is clipped, a picture comes as one', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('calc'));
  const { runtime, model } = await shop.open(
    ({ messages }) =>
      messages.length === 1
        ? { calls: [call('mcp__calc__long', {}), call('mcp__calc__picture', {})] }
        : { text: 'done' },
    { trustProject: true, yes: true },
  );
  await (await runtime.session()).send('x').result;
  const [long, picture] = model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
  expect((long as { content: string }).content.length).toBeLessThan(33_000);
  expect((long as { content: string }).content).toMatch(/read_result/);
  expect(picture).toMatchObject({ images: [{ mediaType: 'image/png', data: 'iVBORw0KGgo=' }] });
});

test('a server over streamable HTTP, with a header from the environment', async () => {
  const shop = workshop();
  const port = await freePort();
  const script = await bundleTs(new URL('../helpers/mcp-http-server.js', import.meta.url));
  const server = spawn(process.execPath, [script, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void server.kill('SIGKILL'));
  await new Promise((resolve) => server.stdout.once('data', resolve));
  shop.write(
    'reasonix.toml',
    `[[mcp]]\nname = "web"\nurl = "http://127.0.0.1:${port}/mcp"\n[mcp.headers]\nAuthorization = "Bearer \${WEB_TOKEN}"\n`,
  );
  const { runtime } = await shop.open(
    ({ messages }) => (messages.length === 1 ? { calls: [call('mcp__web__who', {})] } : { text: lastResult(messages) }),
    { trustProject: true, env: { WEB_TOKEN: 'made-up' } },
  );
  expect((await (await runtime.session()).send('x').result).answer).toMatch(/Bearer/);
  const unset = await shop.open(() => ({ text: 'done' }), { trustProject: true });
  await (await unset.runtime.session()).send('x').result;
  expect(unset.runtime.mcpStatus()[0]).toMatchObject({ state: 'failed', problem: expect.stringMatching(/WEB_TOKEN/) });
});

test('names fit every provider, stay apart and stay the same', () => {
  const long = 'a'.repeat(80);
  const names = [
    mcpToolName('docs', 'search'),
    mcpToolName('docs', 'search.all'),
    mcpToolName('docs', 'search_all'),
    mcpToolName(long, 'x'),
    mcpToolName(long, 'y'),
    mcpToolName('a__b', 'c'),
    mcpToolName('a', 'b__c'),
    mcpToolName('a_', 'b'),
    mcpToolName('a', '_b'),
    mcpToolName('日本', '検索'),
  ];
  expect(names[0]).toBe('mcp__docs__search');
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(mcpToolName(long, 'x')).toBe(names[3]);
});
