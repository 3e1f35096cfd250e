import { createHash } from 'node:crypto';
import { ReasonixError } from '../core/errors.ts';

/** SHA-256, hex: the name of a blob. */
export const blobHash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** @throws ReasonixError `usage` when one of the names is not the hash of its bytes. */
export function checkBlobs(blobs: ReadonlyMap<string, Uint8Array>): void {
  for (const [hash, bytes] of blobs) {
    if (blobHash(bytes) === hash) continue;
    throw new ReasonixError('usage', `a blob of ${bytes.length} bytes was put under ${hash}, which is not its hash`, {
      hint: 'name blobs by the SHA-256 of their bytes, hex',
    });
  }
}
