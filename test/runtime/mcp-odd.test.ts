import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
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
