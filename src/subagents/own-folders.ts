import { randomBytes } from 'node:crypto';
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

/**
 * Holds the git worktree of a child whose skill asks for one, in a folder of its own that its log names.
 * Beside it there may be what other processes have made for the same child without coming to a log.
 */
export const worktreeFolder = (reasonixHome: string, reference: string): string =>
  join(worktreesFolder(reasonixHome), reference);

/** A worktree of the child that nobody else makes. */
export const newWorktree = (reasonixHome: string, reference: string): string =>
  join(worktreeFolder(reasonixHome, reference), randomBytes(4).toString('hex'));

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
