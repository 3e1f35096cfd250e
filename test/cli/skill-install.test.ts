import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skillText, tgzOf, zipOf } from '../skills/install-archives.ts';
import { listing } from '../skills/install-place.ts';
import { built, Workplace } from './workplace.ts';

interface PlanJson {
  applied: boolean;
  scope: string;
  skills: { name: string; action: string; path: string; revision: string | null; scripts: string[]; diff: string[] }[];
}

let place: Workplace;
beforeAll(built);
beforeEach(() => {
  place = new Workplace();
  source('skills/a/SKILL.md', skillText('a', 'allowed-tools: Read'));
  source('skills/a/scripts/run.sh', '#!/bin/sh\n');
  source('skills/b/SKILL.md', skillText('b'));
});
afterEach(() => place.remove());

function source(path: string, text: string | Buffer): string {
  const file = join(place.folder, 'source', path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const settings = (): string => join(place.project, '.reasonix');
const installed = (folder = settings()): string[] =>
  existsSync(folder) ? listing(folder).filter((path) => !path.startsWith('cache/')) : [];
const install = (...words: string[]) => place.run(['skill', 'install', ...words]);

async function served<T>(
  files: Record<string, Buffer | string>,
  use: (url: string, server: Server) => Promise<T>,
): Promise<T> {
  const server = createServer((request, response) => {
    const body = files[request.url ?? ''];
    if (typeof body === 'string') response.writeHead(302, { location: body }).end();
    else if (body === undefined) response.writeHead(404).end('no');
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('skill install', () => {
  test('prints the plan and changes nothing where nobody can be asked; --yes does it', async () => {
    const planned = await install('../source');
    expect(planned.code).toBe(2);
    expect(planned.stdout).toMatch(/^a {2}new {2}2 files/m);
    expect(planned.stdout).toContain('runs as inline; tools: read_file');
    expect(planned.stdout).toContain('scripts scripts/run.sh');
    expect(planned.stderr).toContain('--yes');
    expect(installed()).toEqual([]);
    const done = await install('../source', '--yes');
    expect(done.code).toBe(0);
    expect(done.stdout).toBe(`a  ${settings()}/skills/a\nb  ${settings()}/skills/b\n`);
    expect(installed()).toEqual(['skills.lock', 'skills/a/SKILL.md', 'skills/a/scripts/run.sh', 'skills/b/SKILL.md']);
    const again = await install('../source');
    expect([again.code, again.stdout]).toEqual([0, '2 skills installed already, nothing changes\n']);
    const { skills } = await place.json<{ skills: { name: string }[] }>(['skill', 'list', '--json']);
    expect(skills.map(({ name }) => name)).toEqual(expect.arrayContaining(['a', 'b']));
  });

  test('--json prints the plan as data, applied or not', async () => {
    const words = ['../source', '--json', '--skill', 'b', '--scope', 'user'];
    const planned = await install(...words);
    expect(planned.code).toBe(2);
    expect(JSON.parse(planned.stdout)).toMatchObject({
      applied: false,
      scope: 'user',
      others: ['a'],
      skills: [{ name: 'b', action: 'install' }],
    });
    const plan = await place.json<PlanJson>(['skill', 'install', ...words, '--yes']);
    expect(plan).toMatchObject({ applied: true, skills: [{ path: join(place.reasonixHome, 'skills/b') }] });
    expect(installed(place.reasonixHome)).toEqual(['skills.lock', 'skills/b/SKILL.md']);
  });

  test('takes a repository, and update shows and takes what changed in it', async () => {
    const git = (...args: string[]): void => {
      execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
        cwd: join(place.folder, 'source'),
      });
    };
    git('init', '--quiet', '--initial-branch=main');
    git('add', '--all');
    git('commit', '--quiet', '--message', 'one');
    const plan = await place.json<PlanJson>([
      'skill',
      'install',
      `file://${place.folder}/source`,
      '--ref',
      'main',
      '--yes',
      '--json',
    ]);
    expect(plan.skills[0]!.revision).toMatch(/^[0-9a-f]{40}$/);
    expect(await place.run(['skill', 'update'])).toMatchObject({ code: 0, stdout: '2 skills up to date\n' });
    source('skills/a/SKILL.md', skillText('a', '', 'Changed.\n'));
    git('commit', '--quiet', '--all', '--message', 'two');
    const shown = await place.run(['skill', 'update', 'a']);
    expect(shown.code).toBe(2);
    expect(shown.stdout).toContain('+Changed.');
    expect(shown.stdout).toMatch(/before {2}inline; tools: read_file/);
    expect((await place.run(['skill', 'update', 'a', '--yes'])).code).toBe(0);
    expect(readFileSync(join(settings(), 'skills/a/SKILL.md'), 'utf8')).toContain('Changed.');
  });

  test('takes archives of the network, from public addresses or those that are allowed', async () => {
    const zip = zipOf([{ name: 'x/SKILL.md', content: skillText('x') }]);
    const tgz = tgzOf([{ name: 'y/SKILL.md', content: skillText('y') }]);
    await served(
      { '/x.zip': zip, '/y.tar.gz': tgz, '/moved.zip': '/x.zip', '/out.zip': 'file:///etc/passwd' },
      async (url) => {
        const refused = await install(`${url}/x.zip`, '--yes');
        expect(refused.code).toBe(1);
        expect(refused.stderr).toMatch(/plain http/);
        expect(await install(`${url.replace('http', 'https')}/x.zip`, '--yes')).toMatchObject({
          code: 1,
          stderr: expect.stringMatching(/not on the public internet/),
        });
        expect(installed()).toEqual([]);
        const allowed = ['--allow-private', '--yes'];
        expect((await install(`${url}/moved.zip`, ...allowed)).code).toBe(0);
        expect((await install(`${url}/y.tar.gz`, ...allowed)).code).toBe(0);
        expect(installed()).toEqual(['skills.lock', 'skills/x/SKILL.md', 'skills/y/SKILL.md']);
        expect((await install(`${url}/none.zip`, ...allowed)).stderr).toMatch(/status 404/);
        expect((await install(`${url}/out.zip`, ...allowed)).stderr).toMatch(/Only http and https/);
        expect((await place.run(['skill', 'update', '--allow-private'])).stdout).toBe('2 skills up to date\n');
      },
    );
  });

  test('shows text of others without letting it steer the terminal', async () => {
    source('skills/b/SKILL.md', '---\nname: b\ndescription: "Clears \\e[2J all \\u202e."\n---\nx\n');
    const { stdout } = await install('../source');
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
    expect(stdout).toContain('Clears');
  });

  test.skipIf(process.platform === 'win32')('is stopped by Ctrl-C while it fetches, and leaves nothing', async () => {
    const temporary = join(place.folder, 'tmp');
    mkdirSync(temporary);
    let asked = (): void => {};
    const reached = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const server = createServer(() => asked());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.zip`;
      const running = place.start(['skill', 'install', url, '--allow-private', '--yes'], {
        env: { TMPDIR: temporary },
      });
      await reached;
      running.process.kill('SIGINT');
      expect((await running.ended).code).toBe(130);
      expect(readdirSync(temporary)).toEqual([]);
      expect(installed()).toEqual([]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test.each([
    [['skill', 'install', '--yes'], /SOURCE is missing/],
    [['skill', 'install', './nothing'], /does not exist/],
    [['skill', 'install', '../source', '--skill', 'zzz'], /no skill "zzz"/],
    [['skill', 'install', '../source', '--ref', 'v1'], /for repositories/],
    [['skill', 'update'], /no skills are installed/],
    [['skill', 'update', 'zzz'], /"zzz" was not installed/],
    [['skill', 'remove', 'zzz', '--yes'], /no skill "zzz"/],
  ])('%j is an error of usage', async (words, why) => {
    const { code, stderr } = await place.run(words);
    expect(stderr).toMatch(why);
    expect(code).toBe(2);
  });
});

describe('skill verify', () => {
  test('is content with nothing, and with what was installed; exit code 1 for anything else', async () => {
    expect((await place.run(['skill', 'verify'])).code).toBe(0);
    await install('../source', '--yes');
    expect(await place.run(['skill', 'verify'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok {2}a /) });
    writeFileSync(join(settings(), 'skills/a/scripts/run.sh'), 'rm -rf x\n');
    const { code, stdout } = await place.run(['skill', 'verify', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      skills: [
        { name: 'a', status: 'changed' },
        { name: 'b', status: 'ok' },
      ],
    });
    writeFileSync(join(settings(), 'skills/b/SKILL.md'), skillText('b', 'allowed-tools: Bash'));
    const { stderr } = await place.run(['skill', 'list']);
    expect(stderr).toMatch(/skills\/b\/SKILL\.md: it is not the file that was installed/);
  });
});

describe('skill remove', () => {
  test('asks, or takes --yes; installed skills and others, never built-in ones', async () => {
    await install('../source', '--yes');
    place.skill('mine', 'description: Mine.');
    expect((await place.run(['skill', 'remove', 'a'])).code).toBe(2);
    expect(installed()).toContain('skills/a/SKILL.md');
    const removed = await place.json<{ removed: object[] }>(['skill', 'remove', 'a', '--yes', '--json']);
    expect(removed.removed).toMatchObject([{ name: 'a', is: 'folder', installed: true }]);
    expect((await place.run(['skill', 'remove', 'mine', '--yes'])).stdout).toBe('removed mine\n');
    expect(installed()).toEqual(['skills.lock', 'skills/b/SKILL.md']);
    expect(await place.run(['skill', 'remove', 'explore', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('built in'),
    });
    rmSync(join(settings(), 'skills/b'), { recursive: true });
    expect((await place.run(['skill', 'remove', 'b', '--yes'])).code).toBe(0);
    expect(installed()).toEqual([]);
  });
});

test('skill remove takes several names: one plan, all of them or none', { timeout: 60_000 }, async () => {
  await install('../source', '--yes');
  place.skill('mine', 'description: Mine.');
  const before = installed();
  const refused = await place.run(['skill', 'remove', 'a', 'mine', 'zzz', '--yes']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('no skill "zzz"') });
  expect(installed()).toEqual(before);
  const removed = await place.run(['skill', 'remove', 'a', 'mine', 'a', 'b', '--yes']);
  expect(removed).toMatchObject({ code: 0, stdout: 'removed a, mine, b\n' });
  expect(removed.stderr.match(/^(a|mine|b): /gm)).toEqual(['a: ', 'mine: ', 'b: ']);
  expect(installed()).toEqual([]);
});

test.each(['install', 'update', 'verify', 'remove'])('skill %s --help has an example', async (verb) => {
  const { code, stdout } = await place.run(['skill', verb, '--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`reasonix skill ${verb}`));
});
