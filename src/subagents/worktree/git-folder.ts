import { readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/**
 * What git itself keeps of the working tree `top`: its index, and for a worktree its own references.
 * Read from the disk, since asking git takes a process each time. Undefined where there is none.
 */
export async function gitFolder(top: string): Promise<string | undefined> {
  const path = join(top, '.git');
  const state = await stat(path).catch(() => undefined);
  if (!state) return undefined;
  if (state.isDirectory()) return path;
  const leads = /^gitdir: (.+?)\r?\n?$/s.exec(await readFile(path, 'utf8').catch(() => ''))?.[1];
  return leads === undefined ? undefined : resolve(top, leads);
}

/** What all worktrees of the repository around `top` share. */
export async function commonFolder(top: string): Promise<string | undefined> {
  const own = await gitFolder(top);
  if (own === undefined) return undefined;
  const common = await readFile(join(own, 'commondir'), 'utf8').catch(() => '');
  return common === '' ? own : resolve(own, common.trimEnd());
}
