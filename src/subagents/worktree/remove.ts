import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { isReference } from '../../core/ids.ts';
import type { SessionStore } from '../../store/contract.ts';
import {
  diffFile,
  removeScratch,
  scratchFolder,
  scratchRoot,
  worktreeFolder,
  worktreesFolder,
} from '../own-folders.ts';
import { removeWorktrees } from './folder.ts';

/** Removes what a child has outside of its log: scratch folder, worktree with all that is in it, diff. */
export async function removeFolders(reasonixHome: string, reference: string): Promise<void> {
  if (!isReference(reference)) return;
  await removeWorktrees(worktreeFolder(reasonixHome, reference));
  await rm(diffFile(reasonixHome, reference), { force: true });
  await removeScratch(reasonixHome, reference);
}

/** References of folders whose session is in no log: it was removed, or never came to be. */
export async function orphans(reasonixHome: string, store: SessionStore): Promise<string[]> {
  const found = new Set<string>();
  for (const folder of [worktreesFolder(reasonixHome), scratchRoot(reasonixHome)]) {
    for (const name of await readdir(folder).catch(() => [])) {
      const reference = name.replace(/\.diff$/, '');
      if (isReference(reference)) found.add(reference);
    }
  }
  const gone: string[] = [];
  for (const reference of [...found].sort()) if (await isUnknown(reference, store)) gone.push(reference);
  return gone;
}

/** Whether a reference is one of `orphans`. */
export async function isOrphan(reference: string, reasonixHome: string, store: SessionStore): Promise<boolean> {
  if (!isReference(reference)) return false;
  const places = [worktreeFolder, diffFile, scratchFolder].map((place) => place(reasonixHome, reference));
  return places.some((place) => existsSync(place)) && isUnknown(reference, store);
}

const isUnknown = async (reference: string, store: SessionStore): Promise<boolean> =>
  (await store.list({ idPrefix: reference }, { limit: 1 })).sessions.length === 0;
