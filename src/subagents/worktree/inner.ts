import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { gitPaths } from './git.ts';

const shown = (path: string): string => Buffer.from(path, 'latin1').toString().replace(/\/$/, '');

/**
 * Repositories in a worktree that hold what no diff of it has, and what would go with the worktree: those
 * that were made in it, and submodules in which something changed.
 */
export async function innerRepositories(folder: string): Promise<string[]> {
  const others = await gitPaths(folder, ['ls-files', '-z', '-o', '--exclude-standard']);
  const made = others.filter((path) => path.endsWith('/'));
  return [...made, ...(await changedSubmodules(folder))].map(shown);
}

async function changedSubmodules(folder: string): Promise<string[]> {
  if (!existsSync(join(folder, '.gitmodules'))) return [];
  const how = ['--porcelain=v2', '-z', '--no-renames', '--untracked-files=no', '--ignore-submodules=none'];
  const lines = await gitPaths(folder, ['status', ...how]);
  return lines.flatMap((line) => {
    const path = /^1 .. S(?!\.\.\.)[C.][M.][U.] (?:\S+ ){5}(.+)$/s.exec(line)?.[1];
    return path === undefined ? [] : [path];
  });
}
