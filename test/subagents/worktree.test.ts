import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diffOf } from '../../src/subagents/worktree/diff.ts';
import { isIntact, makeWorktree, removeWorktree } from '../../src/subagents/worktree/folder.ts';
import { mergeInto, treeWith } from '../../src/subagents/worktree/merge.ts';
import { findRepository } from '../../src/subagents/worktree/repository.ts';
import { commitNow } from '../../src/subagents/worktree/snapshot.ts';
import { gitIn, newFolder, repository, type TestRepository } from './repository.ts';

async function worktree(
  { top }: TestRepository,
  name = 'sa_1',
): Promise<{ folder: string; base: string; head: string }> {
  const found = await findRepository(top);
  const { head } = found;
  const base = await commitNow(found);
  const folder = join(newFolder(), name);
  await makeWorktree({ folder, repository: top, head, base });
  return { folder, base, head };
}

/** By way of the diff, as it is kept. */
const merge = async ({ top }: TestRepository, base: string, { bytes }: { bytes: Buffer }): Promise<void> =>
  mergeInto(top, { base, tree: await treeWith(top, base, bytes) });

const read = (...path: string[]) => readFileSync(join(...path), 'utf8');

// Git runs many times in each, which takes long on a busy machine.
describe('a worktree', { timeout: 120_000 }, () => {
  it('shows what its caller sees: edits, new, deleted and renamed files, not what is ignored', async () => {
    const repo = repository({
      'a.txt': 'a\n',
      'gone.txt': 'x\n',
      'old.txt': 'moved\n',
      '.gitignore': 'ignored\n',
      'staged.txt': '1\n',
    });
    repo.write('a.txt', 'edited\n');
    repo.write('new/ünïcode file.txt', 'new\n');
    repo.write('ignored', 'secret\n');
    repo.write('staged.txt', '2\n');
    repo.git('add', 'staged.txt');
    repo.write('staged.txt', '3\n');
    rmSync(join(repo.top, 'gone.txt'));
    renameSync(join(repo.top, 'old.txt'), join(repo.top, 'moved.txt'));
    const before = { status: repo.git('status', '--porcelain'), log: repo.git('log', '--all', '--oneline') };
    const { folder, head } = await worktree(repo);
    expect(read(folder, 'a.txt')).toBe('edited\n');
    expect(read(folder, 'new/ünïcode file.txt')).toBe('new\n');
    expect(read(folder, 'staged.txt')).toBe('3\n');
    expect(read(folder, 'moved.txt')).toBe('moved\n');
    expect(['gone.txt', 'old.txt', 'ignored'].filter((name) => existsSync(join(folder, name)))).toEqual([]);
    // The child finds the same commit, and the same files changed.
    expect(gitIn(folder, 'rev-parse', 'HEAD')).toBe(head);
    expect(gitIn(folder, 'status', '--porcelain').split('\n').sort()).toEqual(
      [' D gone.txt', ' D old.txt', ' M a.txt', ' M staged.txt', '?? moved.txt', '?? new/'].sort(),
    );
    // Nothing of the caller's has changed: neither index nor files nor references.
    expect({ status: repo.git('status', '--porcelain'), log: repo.git('log', '--all', '--oneline') }).toEqual(before);
  });

  it('gives back everything that changed, and it fits where it came from', async () => {
    const repo = repository({
      'a.txt': 'a\n',
      'gone.txt': 'x\n',
      'old.txt': 'a text that moves\nas it is\n',
      run: '#!/bin/sh\n',
    });
    const { folder, base } = await worktree(repo);
    const binary = Buffer.from(Array.from({ length: 3000 }, (_, index) => (index * 7919) % 256));
    writeFileSync(join(folder, 'a.txt'), 'b\r\nwith no end');
    writeFileSync(join(folder, 'picture.bin'), binary);
    writeFileSync(join(folder, 'latin'), Buffer.from([0xe4, 0x0a]));
    rmSync(join(folder, 'gone.txt'));
    mkdirSync(join(folder, 'deep'));
    renameSync(join(folder, 'old.txt'), join(folder, 'deep/renamed file.txt'));
    symlinkSync('a.txt', join(folder, 'link'));
    gitIn(folder, 'update-index', '--chmod=+x', 'run');
    rmSync(join(folder, 'run'));
    writeFileSync(join(folder, 'run'), '#!/bin/sh\n', { mode: 0o755 });
    const diff = await diffOf(folder, base);
    expect(diff.files).toBe(7);
    expect(diff.bytes.toString('latin1')).toContain('rename to deep/renamed file.txt');
    await merge(repo, base, diff);
    expect(read(repo.top, 'a.txt')).toBe('b\r\nwith no end');
    expect(readFileSync(join(repo.top, 'picture.bin'))).toEqual(binary);
    expect(readFileSync(join(repo.top, 'latin'))).toEqual(Buffer.from([0xe4, 0x0a]));
    expect(read(repo.top, 'deep/renamed file.txt')).toBe('a text that moves\nas it is\n');
    expect(['gone.txt', 'old.txt'].filter((name) => existsSync(join(repo.top, name)))).toEqual([]);
    expect(lstatSync(join(repo.top, 'link')).isSymbolicLink()).toBe(true);
    expect(lstatSync(join(repo.top, 'run')).mode & 0o100).toBe(0o100);
    expect(repo.git('diff', '--cached', '--name-only')).toBe('');
    // Again: everything is there already.
    await merge(repo, base, diff);
    expect(read(repo.top, 'a.txt')).toBe('b\r\nwith no end');
  });

  it('counts commits that were made in it, and a file of the same size changed at once', async () => {
    const repo = repository({ 'a.txt': 'aaaa\n' });
    const { folder, base } = await worktree(repo);
    writeFileSync(join(folder, 'a.txt'), 'bbbb\n');
    writeFileSync(join(folder, 'new.txt'), 'new\n');
    gitIn(folder, 'add', '-A');
    gitIn(folder, 'commit', '-q', '-m', 'mine');
    writeFileSync(join(folder, 'a.txt'), 'cccc\n');
    const diff = await diffOf(folder, base);
    expect(diff.bytes.toString()).toContain('+cccc');
    expect(diff.stat).toContain('2 files changed');
    expect(repo.git('log', '--oneline', 'main')).not.toContain('mine');
  });

  it('merges with what the caller did meanwhile, unstaged edits included', async () => {
    const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
    const repo = repository({ 'a.txt': `${lines.join('\n')}\n`, 'b.txt': 'b\n' });
    const { folder, base } = await worktree(repo);
    writeFileSync(join(folder, 'a.txt'), `${lines.with(25, 'of the child').join('\n')}\n`);
    repo.write('a.txt', `${lines.with(2, 'of the caller').join('\n')}\n`);
    repo.write('b.txt', 'staged\n');
    repo.git('add', 'b.txt');
    await merge(repo, base, await diffOf(folder, base));
    expect(read(repo.top, 'a.txt')).toBe(`${lines.with(25, 'of the child').with(2, 'of the caller').join('\n')}\n`);
    expect(repo.git('diff', '--cached', '--name-only')).toBe('b.txt');
  });

  it('changes nothing when one file conflicts, and names it', async () => {
    const repo = repository({ 'a.txt': 'a\n', 'dir/b.txt': 'b\n', 'c.txt': 'c\n' });
    const { folder, base } = await worktree(repo);
    for (const name of ['a.txt', 'dir/b.txt', 'c.txt', 'fresh.txt']) writeFileSync(join(folder, name), 'child\n');
    const diff = await diffOf(folder, base);
    repo.write('dir/b.txt', 'caller\n');
    await expect(merge(repo, base, diff)).rejects.toMatchObject({
      code: 'worktree',
      message: expect.stringMatching(/Nothing was applied: .* in dir\/b\.txt\./),
    });
    expect([read(repo.top, 'a.txt'), read(repo.top, 'dir/b.txt'), existsSync(join(repo.top, 'fresh.txt'))]).toEqual([
      'a\n',
      'caller\n',
      false,
    ]);
    // Deleted there, changed here.
    repo.write('dir/b.txt', 'b\n');
    rmSync(join(repo.top, 'c.txt'));
    await expect(merge(repo, base, diff)).rejects.toThrow(/c\.txt/);
    expect(read(repo.top, 'a.txt')).toBe('a\n');
    // An ignored file stands where a new one would go.
    repo.write('c.txt', 'c\n');
    repo.write('.git/info/exclude', 'fresh.txt\n');
    repo.write('fresh.txt', 'ignored, and mine\n');
    await expect(merge(repo, base, diff)).rejects.toThrow(/fresh\.txt/);
    expect([read(repo.top, 'a.txt'), read(repo.top, 'fresh.txt')]).toEqual(['a\n', 'ignored, and mine\n']);
  });

  it('runs no hook of the repository, and is led nowhere by GIT_ variables', async () => {
    const repo = repository();
    const trace = join(repo.top, '..', `${repo.top.split('/').at(-1)}-hook`);
    for (const hook of ['post-checkout', 'post-index-change', 'pre-commit', 'reference-transaction', 'post-merge']) {
      writeFileSync(join(repo.top, '.git/hooks', hook), `#!/bin/sh\necho ${hook} >> '${trace}'\n`, { mode: 0o755 });
    }
    const other = repository({ 'other.txt': 'x\n' });
    const saved = { ...process.env };
    Object.assign(process.env, {
      GIT_DIR: join(other.top, '.git'),
      GIT_WORK_TREE: other.top,
      GIT_INDEX_FILE: '/nowhere',
    });
    try {
      repo.write('a.txt', 'changed\n');
      const { folder, base } = await worktree(repo);
      writeFileSync(join(folder, 'a.txt'), 'child\n');
      await merge(repo, base, await diffOf(folder, base));
      await removeWorktree(folder, repo.top);
    } finally {
      process.env = saved;
    }
    expect(read(repo.top, 'a.txt')).toBe('child\n');
    expect(existsSync(trace)).toBe(false);
    expect(other.git('status', '--porcelain')).toBe('');
  });

  it('passes files through the filters of the repository', async () => {
    const repo = repository({ '.gitattributes': '*.up filter=up\n' });
    repo.git('config', 'filter.up.clean', 'tr a-z A-Z');
    repo.git('config', 'filter.up.smudge', 'tr A-Z a-z');
    repo.write('word.up', 'word\n');
    const { folder, base } = await worktree(repo);
    expect(read(folder, 'word.up')).toBe('word\n');
    writeFileSync(join(folder, 'word.up'), 'words\n');
    const diff = await diffOf(folder, base);
    expect(diff.bytes.toString()).toContain('+WORDS');
    await merge(repo, base, diff);
    expect(read(repo.top, 'word.up')).toBe('words\n');
  });

  it('holds where the working tree is odd: a conflict, a file in place of a folder, a repository inside, an empty index', async () => {
    const repo = repository({ 'a.txt': 'a\n', 'dir/x': 'x\n', file: 'f\n' });
    repo.git('checkout', '-q', '-b', 'other');
    repo.write('a.txt', 'other\n');
    repo.git('commit', '-qam', 'other');
    repo.git('checkout', '-q', 'main');
    repo.write('a.txt', 'main\n');
    repo.git('commit', '-qam', 'main');
    expect(() => repo.git('merge', 'other')).toThrow();
    rmSync(join(repo.top, 'dir'), { recursive: true });
    repo.write('dir', 'a file now\n');
    rmSync(join(repo.top, 'file'));
    repo.write('file/inside', 'a folder now\n');
    mkdirSync(join(repo.top, 'inner'));
    gitIn(join(repo.top, 'inner'), 'init', '-q');
    const { folder } = await worktree(repo);
    expect(read(folder, 'a.txt')).toContain('<<<<<<<');
    expect([read(folder, 'dir'), read(folder, 'file/inside')]).toEqual(['a file now\n', 'a folder now\n']);
    expect(existsSync(join(folder, 'inner'))).toBe(false);
    rmSync(join(repo.top, '.git/index'));
    repo.write('a.txt', 'solved\n');
    expect(read((await worktree(repo)).folder, 'a.txt')).toBe('solved\n');
  });

  it('has the commits of submodules as its caller has them, and no change where nobody made one', async () => {
    const repo = repository();
    mkdirSync(join(repo.top, 'sm'));
    const inner = repository({ s: 's\n' }, join(repo.top, 'sm'));
    repo.write('.gitmodules', '[submodule "sm"]\n\tpath = sm\n\turl = ./sm\n');
    repo.git('-c', 'advice.addEmbeddedRepo=false', 'add', '-A');
    repo.git('commit', '-qm', 'with a submodule');
    inner.write('s', 'more\n');
    inner.git('commit', '-qam', 'more');
    const { folder, base } = await worktree(repo);
    expect((await diffOf(folder, base)).files).toBe(0);
    expect(gitIn(folder, 'ls-files', '-s', 'sm')).toContain(inner.git('rev-parse', 'HEAD'));
  });

  it('is made side by side with others of the same repository', async () => {
    const repo = repository();
    const made = await Promise.all(Array.from({ length: 4 }, (_, index) => worktree(repo, `sa_${index}`)));
    for (const [index, { folder, base }] of made.entries()) {
      writeFileSync(join(folder, `file-${index}`), 'x');
      expect(await isIntact(folder, base)).toBe(true);
    }
    for (const { folder, base } of made) await merge(repo, base, await diffOf(folder, base));
    expect(readdirSync(repo.top).filter((name) => name.startsWith('file-'))).toHaveLength(4);
    await Promise.all(made.map(({ folder }) => removeWorktree(folder, repo.top)));
    expect(repo.git('worktree', 'list').split('\n')).toHaveLength(1);
  });

  it('is made again from its commit and its diff, also over one that was not finished', async () => {
    const repo = repository();
    repo.write('untracked.txt', 'u\n');
    const { folder, base, head } = await worktree(repo);
    writeFileSync(join(folder, 'a.txt'), 'work\n');
    const { bytes } = await diffOf(folder, base);
    gitIn(folder, 'update-ref', '-d', 'refs/worktree/reasonix');
    expect(await isIntact(folder, base)).toBe(false);
    await makeWorktree({ folder, repository: repo.top, head, base, patch: bytes });
    expect([read(folder, 'a.txt'), read(folder, 'untracked.txt')]).toEqual(['work\n', 'u\n']);
    rmSync(folder, { recursive: true });
    await makeWorktree({ folder, repository: repo.top, head, base, patch: bytes });
    expect((await diffOf(folder, base)).bytes).toEqual(bytes);
    await expect(
      makeWorktree({ folder: `${folder}-2`, repository: repo.top, head, base: 'f'.repeat(40) }),
    ).rejects.toThrow(/The commit ffffffffffff .* is no longer in/);
  });

  it('says why there can be none', async () => {
    const plain = newFolder();
    await expect(findRepository(plain)).rejects.toThrow(/is in no git repository, .* Run a skill without isolation/);
    const empty = newFolder();
    gitIn(empty, 'init', '-q');
    await expect(findRepository(empty)).rejects.toThrow(/Nothing is committed yet/);
    const bare = newFolder();
    gitIn(bare, 'init', '-q', '--bare');
    await expect(findRepository(bare)).rejects.toThrow(/without working files/);
    await expect(findRepository(join(plain, 'gone'))).rejects.toThrow(/no longer exists/);
    const path = process.env.PATH;
    process.env.PATH = plain;
    try {
      await expect(findRepository(plain)).rejects.toThrow(/needs git, which is not installed/);
    } finally {
      process.env.PATH = path;
    }
  });

  it('carries no more than it may', async () => {
    const repo = repository();
    const sparse = join(repo.top, 'huge');
    writeFileSync(sparse, '');
    const { truncateSync } = await import('node:fs');
    truncateSync(sparse, 300 * 1024 * 1024);
    await expect(worktree(repo)).rejects.toThrow(/1 files, more than 256 MiB; at most 20000 files and 256 MiB/);
  });
});
