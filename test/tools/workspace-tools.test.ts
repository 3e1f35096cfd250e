import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BUILTIN_TOOL_NAMES } from '../../src/core/tool-names.ts';
import { workspaceTools } from '../../src/tools/workspace-tools.ts';
import { call, temporaryFolder } from './tool-call.ts';

const tools = workspaceTools({ cwd: '/' });
const byName = (name: string, from = tools) => from.find((tool) => tool.name === name) ?? expect.unreachable(name);

it('gives seven tools, all of them built-in names, with their effects', () => {
  expect(Object.fromEntries(tools.map((tool) => [tool.name, tool.effects]))).toEqual({
    read_file: 'read',
    list_files: 'read',
    grep: 'read',
    write_file: 'write',
    edit_file: 'write',
    shell: 'write',
    web_fetch: 'read',
  });
  for (const tool of tools) expect(BUILTIN_TOOL_NAMES).toContain(tool.name);
});

it('rides on every request with at most 2,600 bytes', () => {
  const sent = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  expect(Buffer.byteLength(JSON.stringify(sent))).toBeLessThanOrEqual(2_600);
  for (const tool of sent) expect(tool.description).not.toBe('');
});

it('names as subject what rules match on', () => {
  const project = workspaceTools({ cwd: '/srv/p', home: '/home/me' });
  const subject = (name: string, input: unknown) => byName(name, project).subject(input);
  expect(subject('read_file', { path: '/srv/p/src/../a.ts' })).toBe('a.ts');
  expect(subject('write_file', { path: '../q/a.ts' })).toBe('/srv/q/a.ts');
  expect(subject('edit_file', { path: '~/x' })).toBe('/home/me/x');
  expect(subject('list_files', {})).toBe('.');
  expect(subject('grep', { pattern: 'x', path: 'src\\deep' })).toBe('src/deep');
  expect(subject('shell', { command: 'git status' })).toBe('git status');
  expect(subject('web_fetch', { url: 'HTTPS://Example.com' })).toBe('https://example.com/');
});

it('resolves against its own folder while another set resolves against its own (F31)', async () => {
  const base = await temporaryFolder();
  const sets = await Promise.all(
    ['a', 'b'].map(async (name) => {
      await mkdir(join(base, name));
      await writeFile(join(base, name, 'who'), name);
      return workspaceTools({ cwd: join(base, name) });
    }),
  );
  const answers = await Promise.all(
    sets.flatMap((set) => [
      call(byName('read_file', set), { path: 'who' }),
      call(byName('shell', set), { command: 'cat who; pwd' }),
      call(byName('grep', set), { pattern: '.' }),
    ]),
  );
  expect(answers.map((answer) => answer.content)).toEqual([
    'a',
    `a${join(base, 'a')}\n[exit code 0]`,
    'who:1:a',
    'b',
    `b${join(base, 'b')}\n[exit code 0]`,
    'who:1:b',
  ]);
});

it('explains a call that does not fit', async () => {
  expect((await call(byName('edit_file'), { path: 'x' })).content).toContain('old_text');
});
