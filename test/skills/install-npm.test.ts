import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { npmTree } from '../../src/skills/install/npm-source.ts';
import { skillText, tgzOf } from './install-archives.ts';

const archive = tgzOf([
  { name: 'package/package.json', content: '{"name":"team-skills","version":"1.0.0"}' },
  { name: 'package/skills/review/SKILL.md', content: skillText('review') },
]);

let folder: string;
let registry: Server;

/** A registry of one package, asked by the real npm. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'npm-source-'));
  registry = createServer((request, response) => {
    const { port } = registry.address() as AddressInfo;
    if (request.url === '/team-skills.tgz') return void response.end(archive);
    if (request.url !== '/team-skills') return void response.writeHead(404).end('{"error":"not_found"}');
    const dist = { tarball: `http://127.0.0.1:${port}/team-skills.tgz` };
    response.end(
      JSON.stringify({
        name: 'team-skills',
        'dist-tags': { latest: '1.0.0' },
        versions: { '1.0.0': { name: 'team-skills', version: '1.0.0', dist } },
      }),
    );
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('npm_config_registry', `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`);
  vi.stubEnv('npm_config_cache', join(folder, 'cache'));
});
afterAll(async () => {
  vi.unstubAllEnvs();
  registry.closeAllConnections();
  await new Promise((resolve) => registry.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

let count = 0;
function fetched(spec: string) {
  const work = join(folder, String(count++));
  mkdirSync(work);
  return npmTree({ kind: 'npm', spec }, { folder: work, signal: new AbortController().signal });
}

describe('a package', { timeout: 60_000 }, () => {
  test('is fetched from the registry that npm is set to', async () => {
    const tree = await fetched('team-skills@^1');
    expect(tree.entries.map(({ path }) => path)).toContain('package/skills/review/SKILL.md');
    expect(tree.revision).toMatch(/^sha512-/);
  });

  test.each([
    ['no-such-skills', /could not be fetched from npm: E404: Not Found - GET http:\/\/127/],
    ['team-skills@9', /could not be fetched from npm: ETARGET: No matching version found for team-skills@9/],
  ])('that cannot be had says why: %s', async (spec, why) => {
    await expect(fetched(spec)).rejects.toMatchObject({ code: 'skill_refused', message: expect.stringMatching(why) });
  });
});
