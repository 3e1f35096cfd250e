import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { call, type Workshop, workshop } from './workshop.ts';

const ODD = fileURLToPath(new URL('../helpers/odd-mcp-server.js', import.meta.url));
const options = { trustProject: true, yes: true };

function serve(shop: Workshop, mode: string, { tools = '', more = '' } = {}): void {
  const args = JSON.stringify(mode.startsWith('/') ? [ODD, 'away', mode] : [ODD, mode]);
  const entry = `[[mcp]]\nname = "odd"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${args}\n${more}`;
  shop.write('reasonix.toml', `[tools]\n${tools}\n${entry}\n`);
}

const results = (messages: readonly { role: string; content?: string }[]): string[] =>
  messages.flatMap(({ role, content }) => (role === 'tool' ? [content ?? ''] : []));

test('a session that goes on before a server is there has its tools once it is', async () => {
  const shop = workshop();
  const file = join(shop.cwd, 'go');
  serve(shop, file, { tools: 'mcp_wait = "20s"' });
  writeFileSync(file, '');
  const first = await shop.open(() => 'done', options);
  const begun = await first.runtime.session();
  await begun.send('x').result;
  await first.runtime.close();

  rmSync(file);
  serve(shop, file, { tools: 'mcp_wait = "200ms"' });
  const second = await shop.open(
    ({ messages }) => (messages.at(-1)?.role === 'user' ? { calls: [call('mcp__odd__ok', {})] } : 'done'),
    options,
  );
  const session = await second.runtime.session({ resume: begun.id });
  await session.send('y').result;
  expect(results(second.model.requests.at(-1)?.messages ?? [])).toEqual([
    expect.stringContaining('There is no tool mcp__odd__ok on the connected servers'),
  ]);
  writeFileSync(file, '');
  await expect.poll(() => second.runtime.mcpStatus()[0]?.state, { timeout: 5_000 }).toBe('ready');
  await session.send('z').result;
  const messages = second.model.requests.at(-1)?.messages ?? [];
  expect(results(messages).at(-1)).toBe('fine');
  const notices = messages.flatMap((message) => (message.role === 'user' ? [message.content] : []));
  expect(notices.filter((text) => /no longer available: mcp__odd__ok/.test(text))).toHaveLength(1);
  expect(notices.filter((text) => /New tools are available: mcp__odd__ok/.test(text))).toHaveLength(1);
});

test('a list without end is read for as long as a start may take', async () => {
  const shop = workshop();
  serve(shop, 'pages', { more: 'start_timeout = "2s"' });
  const { runtime } = await shop.open(() => 'done', options);
  await (await runtime.session()).send('x').result;
  expect(runtime.mcpStatus()[0]).toMatchObject({ state: 'failed', problem: expect.stringContaining('within 2 s') });
});

test('a list whose pages lead in a circle is read once', async () => {
  const shop = workshop();
  serve(shop, 'circle');
  const { runtime } = await shop.open(() => 'done', options);
  await (await runtime.session()).send('x').result;
  expect(runtime.mcpStatus()[0]).toMatchObject({ state: 'ready', tools: 3 });
});

test('a time-out of more than a timer holds is a long one', async () => {
  const shop = workshop();
  serve(shop, 'plain', {
    tools: 'mcp_wait = "1000h"\nshell_timeout = "1000h"',
    more: 'call_timeout = "1000h"\nstart_timeout = "1000h"\n[[hooks]]\nname = "long"\non = ["before_tool"]\ntimeout = "1000h"\ncommand = "sleep 0.2; echo refused >&2; exit 2"\nmatch = ["mcp__*"]',
  });
  const { runtime, model } = await shop.open(
    ({ messages }) =>
      messages.length > 1
        ? 'done'
        : { calls: [call('mcp__odd__ok', {}), call('shell', { command: 'sleep 0.2; echo ended' })] },
    options,
  );
  await (await runtime.session()).send('x').result;
  expect(results(model.requests.at(-1)?.messages ?? [])).toEqual([
    expect.stringContaining('refused'),
    expect.stringContaining('ended'),
  ]);
  expect(runtime.mcpStatus()[0]).toMatchObject({ state: 'ready' });
});

test('tools that go are named in a line, however many', async () => {
  const shop = workshop();
  serve(shop, 'vanish');
  const { runtime, model } = await shop.open(
    ({ messages }) => (messages.length === 1 ? { calls: [call('call_tool', { name: 'mcp__odd__t0' })] } : 'done'),
    options,
  );
  const session = await runtime.session();
  await session.send('x').result;
  while (runtime.mcpStatus()[0]?.tools !== 0) await delay(20);
  await session.send('y').result;
  const last = model.requests.at(-1)?.messages.at(-1);
  expect(last).toMatchObject({ content: expect.stringMatching(/no longer available.* \(\+170\)\.$/) });
});

test('a call that is refused says so at no length, whatever it was given', async () => {
  const shop = workshop();
  serve(shop, 'huge', { more: "[permissions]\ndeny = ['shell(echo *)']" });
  const long = 'x'.repeat(20_000);
  const { runtime, model } = await shop.open(
    ({ messages }) =>
      messages.at(-1)?.role !== 'user'
        ? 'done'
        : {
            calls: [
              call('call_tool', { name: 'mcp__odd__huge', arguments: '[]' }),
              call('call_tool', { name: long }),
              call('shell', { command: `echo ${long}` }),
            ],
          },
    options,
  );
  await (await runtime.session()).send('x').result;
  const [unfit = '', unknown = '', refused = ''] = results(model.requests.at(-1)?.messages ?? []);
  expect(unfit).toContain('expected an object');
  expect(unknown).toContain('There is no tool xxx');
  expect(refused).toMatch(/^Not allowed: shell\(echo x+\): .*\. Do not try/);
  for (const text of [unfit, unknown, refused]) expect(text.length).toBeLessThan(10_000);
});

test('what a server gives without words for it reaches the model', async () => {
  const shop = workshop();
  serve(shop, 'kept');
  const { runtime, model } = await shop.open(
    ({ messages }) =>
      messages.length > 1 ? 'done' : { calls: [0, 1, 2, 3].map((kind) => call('mcp__odd__ok', { kind })) },
    options,
  );
  await (await runtime.session()).send('x').result;
  const tools = model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool');
  const png = [{ mediaType: 'image/png', data: 'iVBORw0KGgo=' }];
  expect(tools).toMatchObject([
    { content: '{"rows":[1,2]}' },
    { content: '{"rows":[1,2]}', images: png },
    { images: png },
    { content: expect.stringContaining('resource application/zip a://b') },
  ]);
});

test('an argument whose name providers refuse has another one for models, and its own for the server', async () => {
  const shop = workshop();
  serve(shop, 'names');
  const { runtime, model } = await shop.open(
    ({ messages }) => (messages.length > 1 ? 'done' : { calls: [call('mcp__odd__ok', { _filter: 'name eq 1' })] }),
    options,
  );
  await (await runtime.session()).send('x').result;
  const shown = model.requests[0]?.tools.find(({ name }) => name === 'mcp__odd__ok');
  expect(shown?.parameters).toMatchObject({ properties: { _filter: { type: 'string' } } });
  expect(results(model.requests.at(-1)?.messages ?? [])).toEqual(['{"$filter":"name eq 1"}']);
});
