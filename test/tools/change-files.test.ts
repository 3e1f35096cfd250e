import { chmod, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { editFileTool } from '../../src/tools/edit-file.ts';
import { Workspace } from '../../src/tools/workspace.ts';
import { writeFileTool } from '../../src/tools/write-file.ts';
import { type Answer, call, temporaryFolder } from './tool-call.ts';

let base: string;
let cwd: string;
let write: (input: unknown) => Promise<Answer>;
let edit: (input: unknown) => Promise<Answer>;
const at = (name: string) => join(cwd, name);
const text = (name: string) => readFile(at(name), 'utf8');

beforeEach(async () => {
  base = await temporaryFolder();
  cwd = join(base, 'project');
  await mkdir(cwd);
  const workspace = new Workspace({ cwd, forbidRead: ['.env'] });
  write = (input) => call(writeFileTool(workspace), input);
  edit = (input) => call(editFileTool(workspace), input);
});

describe('write_file', () => {
  it('creates with folders, replaces, and says which and how much', async () => {
    expect(await write({ path: 'a/b/c.txt', content: 'é🎯' })).toEqual({
      content: 'Created a/b/c.txt (6 bytes).',
      isError: false,
    });
    expect((await write({ path: at('a/b/c.txt'), content: '' })).content).toBe(
      'Replaced a/b/c.txt (0 bytes, 6 before).',
    );
    expect(await text('a/b/c.txt')).toBe('');
    expect(await readdir(at('a/b'))).toEqual(['c.txt']);
  });

  it('keeps the mode of the file and the link that leads to it', async () => {
    await writeFile(at('run.sh'), 'old');
    await chmod(at('run.sh'), 0o750);
    await symlink('run.sh', at('link'));
    await write({ path: 'link', content: 'new' });
    expect((await stat(at('run.sh'))).mode & 0o777).toBe(0o750);
    expect(await text('run.sh')).toBe('new');
    expect(await readlink(at('link'))).toBe('run.sh');
  });

  it('leaves an outside file alone, whatever the way to it', async () => {
    await writeFile(join(base, 'secret'), 'kept');
    await symlink(join(base, 'secret'), at('link'));
    await symlink(base, at('up'));
    for (const path of ['../secret', 'link', 'up/secret', 'up/new', join(base, 'secret'), '.env']) {
      expect((await write({ path, content: 'gone' })).isError, path).toBe(true);
      expect((await edit({ path, old_text: 'kept', new_text: 'gone' })).isError, path).toBe(true);
    }
    expect(await readFile(join(base, 'secret'), 'utf8')).toBe('kept');
    expect((await readdir(base)).sort()).toEqual(['project', 'secret']);
  });

  it('says what is in the way', async () => {
    await mkdir(at('folder'));
    await writeFile(at('file'), '');
    expect((await write({ path: 'folder', content: '' })).content).toContain('folder is a folder');
    expect((await write({ path: 'file/x', content: '' })).content).toMatch(/^file\/x /);
    expect(await readdir(cwd)).toEqual(['file', 'folder']);
  });

  it('never shows a reader half a file', async () => {
    const [a, b] = ['a'.repeat(300_000), 'b'.repeat(300_000)];
    await write({ path: 'x', content: a });
    let writing = true;
    const writes = (async () => {
      for (let round = 0; round < 10; round++) await write({ path: 'x', content: round % 2 ? a : b });
      writing = false;
    })();
    while (writing) expect([a, b]).toContain(await text('x'));
    await writes;
  });
});

describe('edit_file', () => {
  it('replaces one place and says where', async () => {
    await writeFile(at('a.ts'), 'one\ntwo\nthree\n');
    expect(await edit({ path: 'a.ts', old_text: 'two\n', new_text: '2\n' })).toEqual({
      content: 'Edited a.ts: line 2.',
      isError: false,
    });
    expect(await text('a.ts')).toBe('one\n2\nthree\n');
  });

  it('takes the new text literally, and the old one', async () => {
    await writeFile(at('a'), 'price (a+b)* $&\n');
    await edit({ path: 'a', old_text: '(a+b)* $&', new_text: "$& $1 $$ $` $' \\n" });
    expect(await text('a')).toBe("price $& $1 $$ $` $' \\n\n");
  });

  it('wants one place, or replace_all', async () => {
    await writeFile(at('a'), 'x = 1\ny\nx = 1\n');
    const twice = await edit({ path: 'a', old_text: 'x = 1', new_text: 'x = 2' });
    expect(twice.isError).toBe(true);
    expect(twice.content).toContain('old_text is 2 times in a (lines 1, 3)');
    expect(await text('a')).toBe('x = 1\ny\nx = 1\n');
    expect((await edit({ path: 'a', old_text: 'x = 1', new_text: 'x = 2', replace_all: true })).content).toContain(
      '2 places, the first in line 1',
    );
    expect(await text('a')).toBe('x = 2\ny\nx = 2\n');
  });

  it('finds text over CRLF lines and keeps every other line end', async () => {
    await writeFile(at('a'), 'one\r\ntwo\r\nthree\r\nfour\n');
    await edit({ path: 'a', old_text: 'one\ntwo', new_text: 'one\nhalf\ntwo' });
    expect(await text('a')).toBe('one\r\nhalf\r\ntwo\r\nthree\r\nfour\n');
  });

  it.each([
    ['utf-8 with mark', Buffer.from('\uFEFFone é\n'), Buffer.from('\uFEFFtwo é\n')],
    ['utf-16le', Buffer.from('\uFEFFone é\n', 'utf16le'), Buffer.from('\uFEFFtwo é\n', 'utf16le')],
    ['utf-16be', Buffer.from('\uFEFFone é\n', 'utf16le').swap16(), Buffer.from('\uFEFFtwo é\n', 'utf16le').swap16()],
    ['latin1', Buffer.from('one \xe9 x\n', 'latin1'), Buffer.from('two \xe9 x\n', 'latin1')],
  ])('keeps the encoding %s', async (_, before, after) => {
    await writeFile(at('a'), before);
    await edit({ path: 'a', old_text: 'one', new_text: 'two' });
    expect(await readFile(at('a'))).toEqual(after);
  });

  it('refuses signs that the encoding lacks rather than spoil the file', async () => {
    await writeFile(at('a'), Buffer.from('one \xe9 x\n', 'latin1'));
    expect((await edit({ path: 'a', old_text: 'one', new_text: '🎯' })).content).toContain('encoded as latin1');
  });

  it('helps when the text is not there', async () => {
    await writeFile(at('a.ts'), 'function first() {\n    return  1;\n}\nfunction second() {}\n');
    const answer = await edit({ path: 'a.ts', old_text: '  return 1;', new_text: 'return 2;' });
    expect(answer.content).toContain('old_text is not in a.ts. The nearest is line 2:     return  1;');
    expect((await edit({ path: 'a.ts', old_text: 'zzz', new_text: 'y' })).content).not.toContain('nearest');
    expect((await edit({ path: 'a.ts', old_text: 'functoin second', new_text: 'function second' })).content).toContain(
      'may have been made already',
    );
    expect((await edit({ path: 'a.ts', old_text: '', new_text: 'y' })).content).toContain('write_file');
    expect((await edit({ path: 'a.ts', old_text: 'y', new_text: 'y' })).content).toContain('the same');
    expect((await edit({ path: 'no.ts', old_text: 'x', new_text: 'y' })).content).toContain('no.ts does not exist');
  });

  it('loses no edit when several come at once', async () => {
    await writeFile(at('a'), Array.from({ length: 20 }, (_, index) => `<${index}>\n`).join(''));
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => edit({ path: 'a', old_text: `<${index}>`, new_text: `[${index}]` })),
    );
    expect(await text('a')).toBe(Array.from({ length: 20 }, (_, index) => `[${index}]\n`).join(''));
  });

  it('changes what was asked for and not a byte more', async () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', '$', '&', '\\', '\n', '\r\n', 'é', '🎯', '.', '*') });
    await fc.assert(
      fc.asyncProperty(piece, piece, piece, async (before, replacement, after) => {
        await writeFile(at('a'), `${before}<KEY>${after}`);
        await edit({
          path: 'a',
          old_text: '<KEY>',
          new_text: `<${replacement.replaceAll('\r', '').replaceAll('\n', '')}>`,
        });
        expect(await text('a')).toBe(`${before}<${replacement.replace(/[\r\n]/g, '')}>${after}`);
      }),
      { numRuns: 60 },
    );
  });
});
