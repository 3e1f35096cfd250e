import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Builds `dist/` when it is missing or older than a source file. */
const root = fileURLToPath(new URL('..', import.meta.url));

function newest(folder) {
  let time = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) time = Math.max(time, statSync(`${entry.parentPath ?? entry.path}/${entry.name}`).mtimeMs);
  }
  return time;
}

function builtAt() {
  return statSync(`${root}dist/index.js`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

if (builtAt() < newest(`${root}src`)) {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  process.exit(status ?? 1);
}
