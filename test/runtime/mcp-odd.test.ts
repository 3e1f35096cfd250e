import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { spawnTs } from '../helpers/spawn-ts.ts';
import { call, workshop } from './workshop.ts';

const helper = (name: string): string => fileURLToPath(new URL(`../helpers/${name}`, import.meta.url));

/** An `[[mcp]]` entry that starts a server of the tests. */
function entry(name: string, script: string, ...args: string[]): string {
  const words = JSON.stringify([helper(script), ...args]);
  return `[[mcp]]\nname = "${name}"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${words}\n`;
}

const options = { trustProject: true, yes: true };

test('a tool whose definition is odd takes no other away, and none gets to a provider that would refuse it', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('odd', 'odd-mcp-server.js', 'odd'));
  const { runtime, model } = await shop.open(
    ({ messages }) => (messages.length === 1 ? { calls: [call('mcp__odd__promises', {})] } : 'done'),
    options,
  );
  await (await runtime.session()).send('x').result;
  const tools = model.requests[0]?.tools.filter(({ name }) => name.startsWith('mcp__')) ?? [];
  expect(tools.map(({ name, description, parameters }) => [name, description, parameters])).toEqual([
    ['mcp__odd__a-list', '', { type: 'object', properties: {} }],
    ['mcp__odd__no-schema', '', { type: 'object', properties: {} }],
    ['mcp__odd__no-type', '', { type: 'object', properties: { a: { type: 'string' } } }],
    ['mcp__odd__ok', 'Is fine.', { type: 'object', properties: {} }],
    ['mcp__odd__promises', '', { type: 'object', properties: {} }],
    ['mcp__odd__refers', '', { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: {} } }],
  ]);
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'fine' });
});

test('a server that always says that its list has changed is asked now and then', async () => {
  const shop = workshop();
  const file = join(shop.cwd, 'lists');
  shop.write('reasonix.toml', entry('storm', 'odd-mcp-server.js', 'storm', file));
  const { runtime } = await shop.open(() => 'done', options);
  await (await runtime.session()).send('x').result;
  await delay(700);
  expect(readFileSync(file, 'utf8').length).toBeLessThanOrEqual(3);
});

test('a runtime closes at once beside a server that never answers', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', `[tools]\nmcp_wait = "500ms"\n${entry('mute', 'mcp-server.js', 'mute')}`);
  const { runtime } = await shop.open(() => 'done', options);
  await (await runtime.session()).send('x').result;
  const before = performance.now();
  await runtime.close();
  expect(performance.now() - before).toBeLessThan(8_000);
});

test('a session does not wait for a server that is there for the sub-agents of a skill alone', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', `[tools]\nmcp_wait = "15s"\n${entry('mute', 'mcp-server.js', 'mute')}skills = ["x"]\n`);
  const { runtime } = await shop.open(() => 'done', options);
  const before = performance.now();
  expect((await (await runtime.session()).send('x').result).answer).toBe('done');
  expect(performance.now() - before).toBeLessThan(8_000);
});

test('a server that did not start is tried again after a while, and its tools are announced', async () => {
  const shop = workshop();
  const file = join(shop.cwd, 'go');
  shop.write('reasonix.toml', entry('later', 'odd-mcp-server.js', 'later', file));
  const { runtime, model } = await shop.open(() => 'done', options);
  const session = await runtime.session();
  await session.send('x').result;
  expect(runtime.mcpStatus()[0]).toMatchObject({ state: 'failed' });
  writeFileSync(file, '');
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 120_000 });
  onTestFinished(() => void vi.useRealTimers());
  await session.send('y').result;
  while (runtime.mcpStatus()[0]?.state !== 'ready') await delay(20);
  await session.send('z').result;
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('mcp__later__ok');
});

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

const goneWithin = (pid: number, timeout: number) => expect.poll(() => isAlive(pid), { timeout }).toBe(false);

test.skipIf(process.platform !== 'linux')('a server that wants neither end nor signal is killed, in time', async () => {
  const shop = workshop();
  const file = join(shop.cwd, 'pid');
  shop.write('reasonix.toml', entry('stubborn', 'odd-mcp-server.js', 'stubborn', file));
  const { runtime } = await shop.open(() => 'done', options);
  await (await runtime.session()).send('x').result;
  const pid = Number(readFileSync(file, 'utf8'));
  expect(isAlive(pid)).toBe(true);
  const before = performance.now();
  await runtime.close();
  expect(performance.now() - before).toBeLessThan(5_000);
  await goneWithin(pid, 2_000);
});

test.skipIf(process.platform !== 'linux')(
  'a server that wants no end does not outlive a program that just ends',
  async () => {
    const shop = workshop();
    const file = join(shop.cwd, 'pid');
    const args = [helper('odd-mcp-server.js'), 'stubborn', file];
    const program = await spawnTs(new URL('../helpers/mcp-leaver.ts', import.meta.url), { args });
    expect(await program.exited).toMatchObject({ code: 0 });
    await goneWithin(Number(readFileSync(file, 'utf8')), 5_000);
  },
);

test('a storm of progress costs little, and what is shown of it is the newest', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('busy', 'odd-mcp-server.js', 'progress'));
  const { runtime, model } = await shop.open(
    ({ messages }) => (messages.length === 1 ? { calls: [call('mcp__busy__ok', {})] } : 'done'),
    options,
  );
  const lines: string[] = [];
  runtime.observe((seen) => {
    if (seen.kind === 'progress' && seen.text.includes(' of 50000')) lines.push(seen.text);
  });
  await (await runtime.session()).send('x').result;
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'fine' });
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(100);
  const counts = lines.map((line) => Number(line.split(' of ')[0]));
  expect(counts).toEqual(counts.toSorted((left, right) => left - right));
});

test('a result of a wrong shape is one line that says what is wrong with it', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('odd', 'odd-mcp-server.js', 'shapes'));
  const results: string[] = [];
  const { runtime } = await shop.open(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool') results.push(last.content);
    return results.length < 6 ? { calls: [call('mcp__odd__ok', { shape: results.length })] } : 'done';
  }, options);
  await (await runtime.session()).send('x').result;
  expect(results).toEqual([
    expect.stringMatching(
      /^What odd answered ok with is no result \(content: [^\n{]+\)\. It may have run all the same\.$/,
    ),
    expect.stringMatching(/no result \(content\.0[^\n{]*\)/),
    expect.stringMatching(/no result \(content\.0[^\n{]*\)/),
    expect.stringMatching(/^The server odd failed to run ok: .*its answer holds no result$/),
    expect.stringMatching(/no result \(content\.0[^\n{]*\)/),
    expect.stringMatching(/its answer holds no result$/),
  ]);
  for (const line of results) expect(line.length).toBeLessThan(250);
});

test('null is no arguments, as for every other tool', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', entry('odd', 'odd-mcp-server.js', 'plain'));
  const texts = ['null', '"null"', '', '"{}"', '[]', '{'];
  const results: string[] = [];
  const { runtime } = await shop.open(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool') results.push(last.content);
    const next = texts[results.length];
    return next === undefined ? 'done' : { calls: [{ name: 'mcp__odd__ok', arguments: next }] };
  }, options);
  await (await runtime.session()).send('x').result;
  expect(results).toEqual(['fine', 'fine', 'fine', 'fine', expect.stringContaining('an object'), expect.any(String)]);
  expect(results[5]).toContain('not valid JSON');
});
