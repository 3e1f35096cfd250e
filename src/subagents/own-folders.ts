import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Folders that belong to one child and are named by its reference. The paths are short: programs make
 * sockets below `TMPDIR`, and a socket's path has 107 bytes.
 */

export const scratchRoot = (reasonixHome: string): string => join(reasonixHome, 'scratch');

/** Files of the child alone. It is made when it is first used, and stays until the session is removed. */
export const scratchFolder = (reasonixHome: string, reference: string): string =>
  join(scratchRoot(reasonixHome), reference);

export const worktreesFolder = (reasonixHome: string): string => join(reasonixHome, 'worktrees');

/** The git worktree of a child whose skill asks for one. */
export const worktreeFolder = (reasonixHome: string, reference: string): string =>
  join(worktreesFolder(reasonixHome), reference);

/** The changes of a worktree, when they are too large for the log. */
export const diffFile = (reasonixHome: string, reference: string): string =>
  join(worktreesFolder(reasonixHome), `${reference}.diff`);

export async function removeScratch(reasonixHome: string, reference: string): Promise<void> {
  await rm(scratchFolder(reasonixHome, reference), { recursive: true, force: true, maxRetries: 3 });
}

/** A folder that only its owner may enter. */
export async function makePrivate(folder: string): Promise<void> {
  if ((await mkdir(folder, { recursive: true, mode: 0o700 })) === undefined) return;
  // The umask may have taken bits away; it never adds any.
  await chmod(folder, 0o700);
}
