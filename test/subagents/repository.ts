import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A git repository in a temporary folder. */
export interface TestRepository {
  top: string;
  git(...args: string[]): string;
  write(path: string, content: string | Uint8Array): string;
}

const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_'))),
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
});

export function gitIn(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
    cwd: folder,
    env: environment(),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trimEnd();
}

/** Sets up a repository in `top`, a new folder by default, with the files committed. */
export function repository(
  files: Record<string, string> = { 'a.txt': 'one\ntwo\nthree\n' },
  top?: string,
): TestRepository {
  const folder = top ?? newFolder();
  const write = (path: string, content: string | Uint8Array): string => {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  const git = (...args: string[]) => gitIn(folder, ...args);
  git('init', '-q', '-b', 'main');
  for (const [path, content] of Object.entries(files)) write(path, content);
  git('add', '-A');
  git('commit', '-q', '--allow-empty', '-m', 'first');
  return { top: folder, git, write };
}

export function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reasonix-git-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
