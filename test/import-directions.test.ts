import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const source = fileURLToPath(new URL('../src', import.meta.url));

/** From the ground up: a folder imports itself and what stands before it. */
const ORDER = [
  'core',
  'store',
  'models',
  'skills',
  'tools',
  'session',
  'middleware',
  'subagents',
  'config',
  'engines',
  'runtime',
  'mcp',
  'server',
  'cli',
];

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...found].map((match) => resolve(dirname(file), match[1] ?? ''));
}

const folderOf = (file: string): string => relative(source, file).split(sep)[0] ?? '';

it('imports go down the house, never up', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  expect(files.length).toBeGreaterThan(50);
  const wrong: string[] = [];
  for (const file of files) {
    const from = folderOf(join(source, file));
    if (from === 'index.ts') continue;
    expect(ORDER, `${file} stands in a folder without a place in the order`).toContain(from);
    for (const target of importsOf(join(source, file))) {
      const to = folderOf(target);
      if (ORDER.indexOf(to) > ORDER.indexOf(from) || !ORDER.includes(to)) wrong.push(`${file} imports ${to}`);
    }
  }
  expect(wrong).toEqual([]);
});
