import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { grepTool } from '../../src/tools/grep.ts';
import { listFilesTool } from '../../src/tools/list-files.ts';
import { readFileTool } from '../../src/tools/read-file.ts';
import { Workspace } from '../../src/tools/workspace.ts';
import { call, temporaryFolder } from './tool-call.ts';

let base: string;
let cwd: string;
let list: (input?: unknown) => Promise<string>;
let grep: (input: unknown) => Promise<string>;

async function put(path: string, content = 'x\n'): Promise<void> {
  const file = join(cwd, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

beforeEach(async () => {
  base = await temporaryFolder();
  cwd = join(base, 'project');
  await mkdir(cwd);
  execFileSync('git', ['init', '-q'], { cwd });
  await put('.gitignore', 'dist/\n*.log\n');
  await put('src/a.ts', 'export const alpha = 1;\n// needle (here)\n');
  await put('src/deep/b.ts', 'import needle from "x";\r\nfoo(needle);\r\n');
  await put('README.md', '# needle\n-v is a flag\n');
  await put('dist/out.ts', 'needle\n');
  await put('debug.log', 'needle\n');
  await put('.hidden/c.ts', 'needle\n');
  const workspace = new Workspace({
    cwd,
    readable: [join(cwd, '.app/skills/a'), join(base, 'skills')],
    forbidRead: ['secret'],
  });
  list = async (input = {}) => (await call(listFilesTool(workspace), input)).content;
  grep = async (input) => (await call(grepTool(workspace), input)).content;
});

describe('list_files', () => {
  it('lists what git would, sorted, with the count', async () => {
    expect(await list()).toBe('README.md\nsrc/a.ts\nsrc/deep/b.ts\n[3 files]');
    expect(await list({ path: 'src' })).toBe('src/a.ts\nsrc/deep/b.ts\n[2 files]');
  });

  it('lists hidden and ignored files when asked', async () => {
    const all = await list({ all: true });
    for (const name of ['.gitignore', '.hidden/c.ts', 'debug.log', 'dist/out.ts']) expect(all).toContain(name);
    expect(all).not.toContain('.git/');
  });

  it('picks by glob without showing what is ignored', async () => {
    expect(await list({ glob: '*.ts' })).toBe('src/a.ts\nsrc/deep/b.ts\n[2 files]');
    expect(await list({ glob: '**/*.ts' })).toBe('src/a.ts\nsrc/deep/b.ts\n[2 files]');
    expect(await list({ glob: 'src/*.{ts,js}' })).toBe('src/a.ts\n[1 files]');
    expect(await list({ glob: '*.py' })).toContain('[no files that fit *.py in .');
  });

  it('stops at a depth, and before it is too much, with counts', async () => {
    expect(await list({ depth: 1 })).toBe('README.md\nsrc/ (2 files)\n[3 files; give a folder as path to see into it]');
    for (let index = 0; index < 600; index++) await put(`many/${index % 3}/f${index}.txt`);
    const text = await list();
    expect(text).toContain('many/0/ (200 files)\nmany/1/ (200 files)');
    expect(text).toContain('[603 files;');
    const flat = await list({ path: 'many', glob: '*' });
    expect(flat).toContain('many/2/ (200 files)');
  });

  it('shows the folders of skills whole, hidden or not (B11)', async () => {
    await put('.app/skills/a/references/.x.md');
    await put('.app/skills/a/run.log');
    expect(await list({ path: '.app/skills/a' })).toBe(
      '.app/skills/a/references/.x.md\n.app/skills/a/run.log\n[2 files]',
    );
    await mkdir(join(base, 'skills/b'), { recursive: true });
    await writeFile(join(base, 'skills/b/SKILL.md'), 'needle');
    expect(await list({ path: join(base, 'skills') })).toContain(join(base, 'skills/b/SKILL.md'));
    const workspace = new Workspace({ cwd, readable: [join(base, 'skills')] });
    expect((await call(readFileTool(workspace), { path: join(base, 'skills/b/SKILL.md') })).content).toBe('needle');
  });

  it('goes through no link that leads out, and says what to call for a file', async () => {
    await mkdir(join(base, 'outside'));
    await writeFile(join(base, 'outside/secret'), 'needle');
    await symlink(join(base, 'outside'), join(cwd, 'out'));
    expect(await list({ all: true })).not.toContain('out/');
    expect(await list({ path: 'out' })).toContain('outside of what may be read');
    expect(await list({ path: 'README.md' })).toContain('Use read_file');
  });
});

describe('grep', () => {
  it('answers path, line and text, in the order of the paths', async () => {
    expect(await grep({ pattern: 'needle' })).toBe(
      [
        'README.md:1:# needle',
        'src/a.ts:2:// needle (here)',
        'src/deep/b.ts:1:import needle from "x";',
        'src/deep/b.ts:2:foo(needle);',
      ].join('\n'),
    );
  });

  it('narrows by path and glob, without showing what is ignored', async () => {
    expect(await grep({ pattern: 'needle', path: 'src/deep' })).not.toContain('a.ts');
    expect(await grep({ pattern: 'needle', path: 'src/a.ts' })).toBe('src/a.ts:2:// needle (here)');
    expect(await grep({ pattern: 'needle', glob: '*.md' })).toBe('README.md:1:# needle');
    for (const glob of ['**/*', '*', '**', '**/*.ts', 'src/**/*.ts', 'src/**']) {
      const found = await grep({ pattern: 'needle', glob });
      expect(found, glob).toContain('src/a.ts');
      expect(found, glob).not.toMatch(/dist|log|hidden/);
    }
  });

  it('reads -v as a pattern and (? as a regular expression', async () => {
    expect(await grep({ pattern: '-v' })).toBe('README.md:2:-v is a flag');
    expect(await grep({ pattern: '--files' })).toContain('[no match for --files in .]');
    expect(await grep({ pattern: '(?<=const )alpha' })).toBe('src/a.ts:1:export const alpha = 1;');
  });

  it('explains a bad pattern', async () => {
    const text = await grep({ pattern: 'foo(' });
    expect(text).toContain('no valid regular expression: unclosed group');
    expect(text).toContain('write a backslash before');
    expect(await grep({ pattern: 'foo\\(' })).toBe('src/deep/b.ts:2:foo(needle);');
  });

  it('ignores case and shows lines around', async () => {
    expect(await grep({ pattern: 'NEEDLE', path: 'src/a.ts' })).toContain('no match');
    expect(await grep({ pattern: 'NEEDLE', path: 'src/a.ts', ignore_case: true, context: 1 })).toBe(
      'src/a.ts-1-export const alpha = 1;\nsrc/a.ts:2:// needle (here)',
    );
  });

  it('matches over lines', async () => {
    expect(await grep({ pattern: 'alpha = 1;\\n// needle', path: 'src' })).toContain('src/a.ts:1:');
  });

  it('stops at max and says so', async () => {
    await put('many.txt', 'hit\n'.repeat(500));
    const lines = (await grep({ pattern: 'hit', max: 7 })).split('\n');
    expect(lines).toHaveLength(8);
    expect(lines.at(-1)).toContain('[stopped after 7 matches');
    expect((await grep({ pattern: 'hit' })).split('\n')).toHaveLength(101);
  });

  it('shows the part of a long line that matched, whole signs only (F32)', async () => {
    await put('long.txt', `${'🎯'.repeat(5_000)}needle${'é'.repeat(5_000)}\n`);
    const text = await grep({ pattern: 'needle', path: 'long.txt' });
    expect(text).toMatch(/^long\.txt:1:….*needle.*…$/u);
    expect(text.length).toBeLessThan(400);
    expect(text.isWellFormed()).toBe(true);
  });

  it('shows nothing of what is forbidden', async () => {
    await put('secret', 'needle');
    await put('deep/secret', 'needle');
    expect(await grep({ pattern: 'needle' })).not.toContain('secret');
    expect(await list()).not.toContain('secret');
  });

  it('stops when aborted', async () => {
    const workspace = new Workspace({ cwd });
    const answer = await call(
      grepTool(workspace),
      { pattern: 'x' },
      { signal: AbortSignal.abort(new Error('enough')) },
    );
    expect(answer).toEqual({ content: 'enough', isError: true });
  });
});
