// @ts-check
/** Opens the library of a folder, or reads the same files with plain `fs`, in a fresh process; prints the milliseconds. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLibrary } from '../../dist/index.js';

const [what, cwd = '', expected = '0'] = process.argv.slice(2);

async function index() {
  const startedAt = performance.now();
  const { skills } = await openLibrary({ cwd, home: join(cwd, 'home'), reasonixHome: join(cwd, 'home') });
  return { ms: performance.now() - startedAt, count: skills.length };
}

function plain() {
  const root = join(cwd, '.reasonix', 'skills');
  const startedAt = performance.now();
  const bodies = readdirSync(root).map((name) => readFileSync(join(root, name, 'SKILL.md'), 'utf8'));
  return { ms: performance.now() - startedAt, count: bodies.length };
}

const { ms, count } = what === 'plain' ? plain() : await index();
if (count !== Number(expected)) throw new Error(`found ${count} skills of ${expected}`);
console.log(ms);
