import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseSource, sourceText } from '../../src/skills/install/source.ts';
import { SkillFolder } from './folder.ts';

let folder: SkillFolder;
beforeEach(() => {
  folder = new SkillFolder();
});
afterEach(() => folder[Symbol.dispose]());

const parse = (text: string, ref?: string) => parseSource(text, { base: folder.path, ref });

describe('a source', () => {
  test.each([
    ['owner/repo', 'https://github.com/owner/repo.git', undefined, undefined],
    ['owner/repo@v1.2', 'https://github.com/owner/repo.git', undefined, 'v1.2'],
    ['owner/my.repo/skills/pdf@feature/x', 'https://github.com/owner/my.repo.git', 'skills/pdf', 'feature/x'],
    ['owner/repo/skills/pdf/SKILL.md', 'https://github.com/owner/repo.git', 'skills/pdf', undefined],
    ['https://github.com/owner/repo', 'https://github.com/owner/repo.git', undefined, undefined],
    ['https://github.com/o/r/tree/main/skills/a', 'https://github.com/o/r.git', 'skills/a', 'main'],
    ['https://git.example.org/x.git#skills/a', 'https://git.example.org/x.git', 'skills/a', undefined],
    ['git+https://git.example.org/x', 'https://git.example.org/x', undefined, undefined],
    ['ssh://git@example.org:22/x.git', 'ssh://git@example.org:22/x.git', undefined, undefined],
    ['git@example.org:team/x.git#a', 'git@example.org:team/x.git', 'a', undefined],
    ['file:///srv/x.git', 'file:///srv/x.git', undefined, undefined],
  ])('%s is a repository', (text, url, subfolder, ref) => {
    const source = parse(text);
    expect(source).toMatchObject({ kind: 'git', url });
    expect(source.subfolder).toBe(subfolder);
    expect(source.ref).toBe(ref);
    const again = parseSource(sourceText(source, folder.project), { base: folder.project, ref: source.ref });
    expect(again).toEqual(source);
  });

  test('is a folder or an archive when it exists, before anything else it could mean', () => {
    mkdirSync(join(folder.path, 'owner/repo'), { recursive: true });
    writeFileSync(join(folder.path, 'x.zip'), '');
    expect(parse('owner/repo')).toEqual({ kind: 'folder', path: join(folder.path, 'owner/repo') });
    expect(parse('./x.zip#inner')).toEqual({ kind: 'archive', path: join(folder.path, 'x.zip'), subfolder: 'inner' });
    expect(parse('https://example.org/a/x.tar.gz?v=1#in')).toMatchObject({ kind: 'archive', subfolder: 'in' });
  });

  test('of the project is written relative to it, others whole', () => {
    mkdirSync(join(folder.project, 'vendor'));
    const inside = parseSource('vendor', { base: folder.project });
    expect(sourceText(inside, folder.project)).toBe('./vendor');
    expect(sourceText(parse('home'), folder.project)).toBe(folder.home);
  });

  test.each([
    ['npm:pkg', 'pkg'],
    ['npm:@scope/pkg@^1.2.0', '@scope/pkg@^1.2.0'],
    ['npm:pkg@>=1 <2', 'pkg@>=1 <2'],
  ])('%s is a package', (text, spec) => expect(parse(text)).toMatchObject({ kind: 'npm', spec }));

  test.each([
    '',
    '-u/x',
    '--upload-pack=touch',
    'ext::sh -c touch% /tmp/x',
    'git://example.org/x.git',
    'http://example.org/x.git',
    'ssh://-oProxyCommand=touch/x',
    'ssh://-l@example.org/x',
    'https://user:secret@example.org/x.git',
    'https://token@example.org/x.git',
    'file://host/x',
    'git@-host:x',
    'git@host:-x',
    '-owner/repo',
    'owner/repo/../../x',
    'owner/repo@--upload-pack=x',
    'owner/repo@a..b',
    'owner/repo@x:y',
    'https://example.org/x.git#../up',
    'https://example.org/x.git#/abs',
    'https://example.org/x.git#a%5C..%5Cb',
    'npm:--ignore-scripts=false',
    'npm:github:owner/repo',
    'npm:pkg@https://example.org/x.tgz',
    'npm:pkg@file:../x',
    'npm:a b',
    './missing',
    'nothing',
    'a\nb',
  ])('%j is refused', (text) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'usage' }));
  });

  test('has one revision, and only a repository has any', () => {
    expect(parse('owner/repo', 'v2').ref).toBe('v2');
    expect(() => parse('owner/repo@v1', 'v2')).toThrow(/already says the revision v1/);
    expect(() => parse('npm:pkg', 'v2')).toThrow(/for repositories/);
    expect(() => parse('owner/repo', '-x')).toThrow(/no branch/);
  });
});
