import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { staticImports } from '../../scripts/static-imports.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const loadedBy = (entry: string): string[] =>
  [...staticImports(`${root}${entry}`)].map((file) => relative(root, file)).sort();

/** Packages that one of these files imports at its top. */
function packagesOf(files: readonly string[]): string[] {
  const found = new Set<string>();
  for (const file of files) {
    const text = readFileSync(`${root}${file}`, 'utf8');
    for (const [, name = ''] of text.matchAll(/^(?:import|export) (?!type\b)[^;]*?from '([^.'][^']*)';/gm)) {
      if (!name.startsWith('node:')) found.add(name);
    }
  }
  return [...found].sort();
}

it('an import of the library loads neither the engine nor a store nor a provider, and no package but zod', () => {
  const files = loadedBy('src/index.ts');
  expect(files).toContain('src/session/thread.ts');
  expect(files.filter((file) => /open-runtime|sqlite|postgres|subagents|src\/middleware/.test(file))).toEqual([]);
  expect(packagesOf(files)).toEqual(['zod']);
});

it('a list of skills loads no package at all', () => {
  const files = loadedBy('src/cli/commands/skill-list.ts');
  expect(files).toContain('src/skills/library.ts');
  expect(packagesOf(files)).toEqual([]);
});
