import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { chmod, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { EventOf } from '../../core/events.ts';
import { writeAtomically } from '../../tools/atomic-write.ts';
import { makePrivate } from '../own-folders.ts';
import type { Diff } from './diff.ts';
import { problem } from './problem.ts';

/** Largest diff that stands in the log, in bytes. */
const MOST_IN_LOG = 256 * 1024;

/** The event that keeps a diff. One that the log cannot hold is written to `file` first. */
export async function keepDiff({ bytes, hash, files, stat }: Diff, file: string): Promise<EventOf<'worktree.diff'>> {
  const event: EventOf<'worktree.diff'> = { type: 'worktree.diff', files, stat, bytes: bytes.length, hash };
  if (bytes.length <= MOST_IN_LOG && isUtf8(bytes)) return { ...event, diff: bytes.toString('utf8') };
  await makePrivate(dirname(file));
  await writeAtomically(file, bytes, file);
  await chmod(file, 0o600);
  return event;
}

/** @throws ReasonixError `worktree` when the file of a large diff is gone or was changed. */
export async function keptDiff(event: EventOf<'worktree.diff'>, file: string): Promise<Buffer> {
  if (event.diff !== undefined) return Buffer.from(event.diff, 'utf8');
  const bytes = await readFile(file).catch(() => undefined);
  if (!bytes || createHash('sha256').update(bytes).digest('hex') !== event.hash)
    throw problem('worktree-diff-gone', { file });
  return bytes;
}
