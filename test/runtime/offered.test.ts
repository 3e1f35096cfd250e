import { expect, it } from 'vitest';
import { call, workshop } from './workshop.ts';

it('offers no tool of which no call would run, at no depth; a rule with a pattern keeps its tool', async () => {
  const shop = workshop();
  shop.write('reasonix.toml', '[permissions]\ndeny = ["install_skill", "shell(rm *)", "Write", "web_*"]\n');
  shop.skill('work', { runAs: 'subagent', 'allowed-tools': 'Read, Write, Bash, WebFetch' }, 'Work.');
  const { runtime, model } = await shop.open(({ skill, messages }) => {
    if (skill !== undefined) return 'done';
    if (messages.length === 1) return { calls: [call('run_skill', { name: 'work', arguments: 'a task' })] };
    if (messages.length === 3) return { calls: [call('write_file', { path: 'a.txt', content: 'a' })] };
    return 'done';
  });
  const { session } = await (await runtime.session()).send('go').result;
  const [root] = model.requests;
  const child = model.requests.find(({ skill }) => skill === 'work');
  const names = root?.tools.map(({ name }) => name) ?? [];
  expect(names).toEqual(expect.arrayContaining(['run_skill', 'read_file', 'edit_file', 'shell']));
  expect(names.filter((name) => /install_skill|write_file|web_fetch/.test(name))).toEqual([]);
  expect(child?.tools.map(({ name }) => name).sort()).toEqual(['read_file', 'read_result', 'shell']);
  const refused = (await runtime.store.read(session)).find(
    (event) => event.type === 'tool.result' && event.name === 'write_file',
  );
  expect(refused).toMatchObject({ isError: true });
});

it('a session keeps the tools that it began with, and a rule that came later refuses each call', async () => {
  const shop = workshop();
  const first = await shop.open(() => 'done');
  const session = await first.runtime.session();
  await session.send('go').result;
  await first.runtime.close();
  shop.write('reasonix.toml', '[permissions]\ndeny = ["list_files"]\n');
  const second = await shop.open(({ messages }) =>
    messages.at(-1)?.role === 'user' ? { calls: [call('list_files', { path: '.' })] } : 'done',
  );
  await (await second.runtime.session({ resume: session.id })).send('again').result;
  const [request] = second.model.requests;
  expect(request?.tools).toEqual(first.model.requests[0]?.tools);
  expect(second.model.requests.at(-1)?.messages.at(-1)).toMatchObject({
    isError: true,
    content: expect.stringContaining('a deny rule forbids it'),
  });
});
