import { blobHash } from '../../store/blobs.ts';
import { hasBlobs, type SessionStore } from '../../store/contract.ts';
import { decodeManifest, hashesOf, isHash } from './manifest.ts';

/** Skills that no session names stay for so long: one that is being started may be about to. In milliseconds. */
const MARGIN = 86_400_000;

/**
 * Removes packed skills that no session of the store was started with. Returns how many files that were.
 * @throws ReasonixError `store_corrupt` for skills that a newer version packed: what belongs to them is
 * not known here, and nothing is removed.
 */
export async function removeUnusedSkills(store: SessionStore): Promise<number> {
  if (!hasBlobs(store)) return 0;
  const named = (await store.namedLibraries()).filter(isHash);
  const kept = new Set(named);
  for (const hash of named) {
    const bytes = (await store.readBlobs([hash])).get(hash);
    // One that is lost or damaged is of no use to its sessions any more.
    if (!bytes || blobHash(bytes) !== hash) continue;
    for (const file of hashesOf(decodeManifest(bytes, hash))) kept.add(file);
  }
  return store.dropBlobs(kept, MARGIN);
}
