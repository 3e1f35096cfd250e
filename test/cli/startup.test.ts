import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binary, built, Workplace } from './workplace.ts';

let place: Workplace;
beforeAll(async () => {
  await built();
  place = new Workplace();
  for (let index = 0; index < 20; index++) place.skill(`skill-${index}`, `description: Number ${index}.`);
});
afterAll(() => place.remove());

/** The modules that a command has loaded from disk: packages by name, our own chunks by file. */
function loadedBy(args: readonly string[]): { packages: string[]; chunks: string[] } {
  const { stderr, status } = spawnSync(process.execPath, [binary, ...args], {
    cwd: place.project,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: place.home, USERPROFILE: place.home, NODE_DEBUG: 'esm' },
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(status).toBe(0);
  const urls = new Set([...stderr.matchAll(/Storing (file:\S+)/g)].map(([, url]) => url ?? ''));
  const packages = [...urls].flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return { packages: [...new Set(packages)], chunks: [...urls].flatMap((url) => /dist\/(.+)$/.exec(url)?.[1] ?? []) };
}

describe('a start loads only what it needs', () => {
  test('--version loads nothing of ours', () => {
    expect(loadedBy(['--version'])).toEqual({ packages: [], chunks: [] });
  });

  test('skill list loads no package, and when nothing changed no parser', () => {
    loadedBy(['skill', 'list']);
    const { packages, chunks } = loadedBy(['skill', 'list']);
    expect(packages).toEqual([]);
    expect(chunks).toContain('cli.js');
    expect(chunks.length).toBeLessThanOrEqual(4);
    expect(chunks.join()).not.toMatch(/(^|,)(package|library|parse|sqlite|open-runtime|render)-/);
  });

  test('reading the configuration loads no package but the TOML parser', () => {
    place.write('reasonix.toml', '[skills]\nlazy = false\n');
    expect(loadedBy(['config', 'get', 'skills.lazy', '--json']).packages).toEqual(['smol-toml']);
  });

  test('sessions are listed without any model', () => {
    const { packages, chunks } = loadedBy(['session', 'list']);
    expect(packages).not.toContain('re2js');
    expect(chunks.filter((chunk) => chunk.startsWith('package-'))).toEqual([]);
  });
});
