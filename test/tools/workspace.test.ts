import { mkdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { Workspace } from '../../src/tools/workspace.ts';
import { temporaryFolder } from './tool-call.ts';

let base: string;
let cwd: string;
let workspace: Workspace;

beforeEach(async () => {
  base = await temporaryFolder();
  cwd = join(base, 'project');
  await mkdir(join(cwd, 'src'), { recursive: true });
  await mkdir(join(base, 'outside'));
  await writeFile(join(cwd, 'src/a.ts'), 'a');
  await writeFile(join(base, 'outside/secret'), 'secret');
  workspace = new Workspace({ cwd, home: join(base, 'home') });
});

describe('what may be read', () => {
  it.each(['src/a.ts', './src/a.ts', 'src\\a.ts', 'src/../src/a.ts', 'src//a.ts'])('finds %j', async (path) => {
    expect(await workspace.resolveRead(path)).toBe(join(cwd, 'src/a.ts'));
    expect(workspace.subject(path)).toBe('src/a.ts');
  });

  it('takes absolute paths and ~', async () => {
    expect(await workspace.resolveRead(join(cwd, 'src/a.ts'))).toBe(join(cwd, 'src/a.ts'));
    const home = new Workspace({ cwd, home: base, readable: [join(base, 'outside')] });
    expect(await home.resolveRead('~/outside/secret')).toBe(join(base, 'outside/secret'));
    expect(home.subject('~/outside/secret')).toBe(join(base, 'outside/secret'));
  });

  it.each([
    '../outside/secret',
    '/etc/passwd',
    'src/../../outside/secret',
    '..\\outside\\secret',
    'C:\\x',
    '~/x',
    '..',
    '/',
  ])('refuses %j (G01)', async (path) => {
    await expect(workspace.resolveRead(path)).rejects.toThrow('is outside of what may be read');
    await expect(workspace.resolveWrite(path)).rejects.toThrow('is outside of what may be written');
  });

  it('refuses NUL', async () => {
    await expect(workspace.resolveRead('a\0b')).rejects.toThrow('NUL');
    await expect(workspace.resolveWrite('a\0b')).rejects.toThrow('NUL');
  });

  it('says the same whether or not an outside file exists', async () => {
    await symlink(join(base, 'outside/secret'), join(cwd, 'there'));
    await symlink(join(base, 'outside/nothing'), join(cwd, 'not-there'));
    await symlink(join(base, 'outside'), join(cwd, 'folder'));
    const say = (path: string) =>
      workspace.resolveRead(path).then(
        () => 'read',
        (error: Error) => error.message.replaceAll(path, 'PATH'),
      );
    const said = await Promise.all(
      ['there', 'not-there', 'folder/secret', 'folder/nothing', '../outside/secret', '../outside/nothing'].map(say),
    );
    expect(new Set(said).size).toBe(1);
    expect(said[0]).toContain('outside of what may be read');
  });

  it('follows links that stay inside', async () => {
    await symlink(join(cwd, 'src'), join(cwd, 'link'));
    expect(await workspace.resolveRead('link/a.ts')).toBe(join(cwd, 'src/a.ts'));
  });

  it('ends a circle of links', async () => {
    await symlink(join(cwd, 'y'), join(cwd, 'x'));
    await symlink(join(cwd, 'x'), join(cwd, 'y'));
    await expect(workspace.resolveRead('x')).rejects.toThrow('leads in a circle');
  });

  it('says what does not exist inside', async () => {
    await expect(workspace.resolveRead('src/b.ts')).rejects.toThrow('src/b.ts does not exist');
    await expect(workspace.resolveRead('src/a.ts/b')).rejects.toThrow('src/a.ts/b does not exist');
  });

  it('reads the folders of skills, those that appear later too, and writes none (B11)', async () => {
    const skills: string[] = [];
    const growing = new Workspace({ cwd, readable: () => skills });
    const reference = join(base, 'outside/secret');
    await expect(growing.resolveRead(reference)).rejects.toThrow('outside');
    skills.push(join(base, 'outside'));
    expect(await growing.resolveRead(reference)).toBe(reference);
    await expect(growing.resolveWrite(reference)).rejects.toThrow('outside');
  });

  it('keeps what is forbidden closed, by every way to it', async () => {
    await writeFile(join(cwd, 'src/.env'), 'KEY=1');
    await writeFile(join(cwd, 'src/b.pem'), 'x');
    await mkdir(join(cwd, 'vault/deep'), { recursive: true });
    await symlink(join(cwd, 'vault'), join(cwd, 'way-in'));
    const guarded = new Workspace({
      cwd,
      forbidRead: ['.env', 'src/*.pem', './vault/', join(base, 'outside')],
      readable: [base],
    });
    for (const path of ['src/.env', 'src/b.pem', 'vault/deep', 'way-in/deep', 'vault/new', '../outside/secret']) {
      await expect(guarded.resolveRead(path), path).rejects.toThrow('closed to tools');
    }
    await expect(guarded.resolveWrite('src/.env')).rejects.toThrow('closed to tools');
    expect(await guarded.resolveRead('src/a.ts')).toBe(join(cwd, 'src/a.ts'));
  });

  it('judges each session by its own folder (F31)', async () => {
    const other = new Workspace({ cwd: join(base, 'outside') });
    expect(await other.resolveRead('secret')).toBe(join(base, 'outside/secret'));
    await expect(other.resolveRead('src/a.ts')).rejects.toThrow('does not exist');
    expect(await workspace.resolveRead('src/a.ts')).toBe(join(cwd, 'src/a.ts'));
  });

  it('says so when the working folder vanished', async () => {
    await rm(cwd, { recursive: true });
    await expect(workspace.resolveRead('src/a.ts')).rejects.toThrow(`working folder ${cwd} no longer exists`);
  });
});

describe('what may be written', () => {
  it('allows new files below new folders', async () => {
    expect(await workspace.resolveWrite('new/deep/file')).toBe(join(cwd, 'new/deep/file'));
  });

  it('refuses new files behind links that lead out', async () => {
    await symlink(join(base, 'outside'), join(cwd, 'folder'));
    await symlink(join(base, 'outside/new'), join(cwd, 'dangling'));
    await symlink('../outside/new', join(cwd, 'relative'));
    for (const path of ['folder/new', 'folder/a/b', 'dangling', 'dangling/x', 'relative']) {
      await expect(workspace.resolveWrite(path), path).rejects.toThrow('outside of what may be written');
    }
  });

  it('opens what allow_write names, relative to the working folder', async () => {
    const wide = new Workspace({ cwd, allowWrite: ['../outside'] });
    expect(await wide.resolveWrite('../outside/new')).toBe(join(base, 'outside/new'));
    expect(await wide.resolveRead('../outside/secret')).toBe(join(base, 'outside/secret'));
    await expect(wide.resolveWrite('../outside2')).rejects.toThrow('outside of');
  });
});

it('lets no path of any shape out of the folder', async () => {
  await symlink(join(base, 'outside'), join(cwd, 'out'));
  await symlink('..', join(cwd, 'src/up'));
  const part = fc.constantFrom('..', '.', 'src', 'out', 'up', 'a.ts', 'secret', '', 'new', 'outside', 'project', '~');
  const separator = fc.constantFrom('/', '\\', '//');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(part, separator), { maxLength: 7 }), fc.boolean(), async (parts, rooted) => {
      const path = (rooted ? '/' : '') + parts.flat().join('');
      for (const resolve of ['resolveRead', 'resolveWrite'] as const) {
        const real = await workspace[resolve](path).catch(() => cwd);
        expect(`${real}/`.startsWith(`${cwd}/`)).toBe(true);
        expect(await realpath(real).catch(() => real)).toBe(real);
      }
    }),
    { numRuns: 300 },
  );
});
