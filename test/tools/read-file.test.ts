import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect, it } from 'vitest';
import { readFileTool } from '../../src/tools/read-file.ts';
import { Workspace } from '../../src/tools/workspace.ts';
import { call, temporaryFolder } from './tool-call.ts';

let cwd: string;
let read: (input: unknown) => ReturnType<typeof call>;

beforeEach(async () => {
  cwd = await temporaryFolder();
  const tool = readFileTool(new Workspace({ cwd }));
  read = (input) => call(tool, input);
});

const put = (name: string, content: string | Uint8Array) => writeFile(join(cwd, name), content);

it('gives a small file as it is, byte for byte', async () => {
  const text = 'one\r\n  two\t\n\nthree without end 🎯';
  await put('a.txt', text);
  expect(await read({ path: 'a.txt' })).toEqual({ content: text, isError: false });
});

it('gives some lines and says how to go on', async () => {
  await put('a.txt', 'one\ntwo\nthree\nfour\n');
  expect((await read({ path: 'a.txt', offset: 2, limit: 2 })).content).toBe(
    'two\nthree\n[lines 2-3 of 4; go on with offset 4]',
  );
  expect((await read({ path: 'a.txt', offset: 4 })).content).toBe('four\n[lines 4-4 of 4]');
  const past = await read({ path: 'a.txt', offset: 9 });
  expect(past).toEqual({ content: 'a.txt has only 4 lines; offset 9 is past its end.', isError: true });
});

it('cuts a large file at a line, and the parts make up the whole', async () => {
  const text = Array.from({ length: 9_000 }, (_, index) => `line ${index} ${'é🎯'.repeat(index % 9)}\n`).join('');
  await put('big.txt', text);
  let offset = 1;
  const parts: string[] = [];
  for (;;) {
    const { content } = await read({ path: 'big.txt', offset });
    expect(Buffer.byteLength(content)).toBeLessThan(32 * 1024);
    parts.push(content.replace(/\[lines [^\]]*\]$/, ''));
    const next = /go on with offset (\d+)/.exec(content)?.[1];
    if (next === undefined) break;
    offset = Number(next);
  }
  expect(parts.length).toBeGreaterThan(5);
  expect(parts.join('')).toBe(text);
});

it('reads on from a far line of a large file without its whole in memory', async () => {
  await put('huge.txt', `${'x'.repeat(999)}\n`.repeat(40_000));
  const { content } = await read({ path: 'huge.txt', offset: 30_000, limit: 1 });
  expect(content).toContain('[lines 30000-30000 of many; go on with offset 30001]');
});

it('cuts a line of megabytes without splitting a sign (F32)', async () => {
  await put('min.js', `${'a'.repeat(1024 * 1024 - 1)}🎯${'x'.repeat(5_000)}\nnext\n`);
  const { content } = await read({ path: 'min.js' });
  expect(content.isWellFormed()).toBe(true);
  expect(content).toContain('is cut');
  expect((await read({ path: 'min.js', offset: 2 })).content).toContain('next\n');
});

it.each([
  ['utf-8 with mark', Buffer.from('\uFEFFhé\n'), 'hé\n'],
  ['utf-16le', Buffer.from('\uFEFFhé\n', 'utf16le'), 'hé\n[decoded from utf-16le]'],
  ['utf-16be', Buffer.from('\uFEFFhé\n', 'utf16le').swap16(), 'hé\n[decoded from utf-16be]'],
  ['latin1', Buffer.from('h\xe9llo w\xf6rld\n', 'latin1'), 'héllo wörld\n[decoded from latin1]'],
  ['gb18030', Buffer.from([0xc4, 0xe3, 0xba, 0xc3, 0xca, 0xc0, 0xbd, 0xe7, 10]), '你好世界\n[decoded from gb18030]'],
])('decodes %s', async (_, bytes, text) => {
  await put('a.txt', bytes);
  expect((await read({ path: 'a.txt' })).content).toBe(text);
});

it('never gives a lone surrogate, whatever the bytes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      await put('any', bytes);
      expect((await read({ path: 'any' })).content.isWellFormed()).toBe(true);
    }),
    { numRuns: 60 },
  );
});

it('says what is no text', async () => {
  await put('a.png', Buffer.from([0x89, 0x50, 0, 1, 2]));
  await put('empty', '');
  await mkdir(join(cwd, 'folder'));
  expect((await read({ path: 'a.png' })).content).toContain('a.png is a binary file of 5 bytes');
  expect((await read({ path: 'empty' })).content).toBe('[empty is empty]');
  expect((await read({ path: 'folder' })).content).toContain('folder is a folder. Use list_files');
  expect((await read({ path: '' })).content).toContain('is a folder');
  expect((await read({ path: 'nope' })).content).toContain('list_files');
});

it.skipIf(process.platform === 'win32')('waits for no pipe and reads no device', async () => {
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  await symlink('/dev/zero', join(cwd, 'zero'));
  expect((await read({ path: 'pipe' })).content).toContain('no regular file');
  expect((await read({ path: 'zero' })).content).toContain('outside');
});
