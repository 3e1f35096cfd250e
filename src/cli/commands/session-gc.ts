import { ReasonixError } from '../../core/errors.ts';
import { removeUnusedSkills } from '../../skills/packed/collect.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { listAll } from '../../store/list-all.ts';
import type { Handler } from '../command.ts';
import type { sessionGcFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { descendantsOf, noteProblem, withStore } from '../session/open-store.ts';
import { isConfirmed, removeSessions } from '../session/remove.ts';

const DAY = 86_400_000;

export const sessionGc: Handler<typeof sessionGcFlags> = ({ flags }) =>
  withStore(flags, async (store, { folders: { reasonixHome } }) => {
    const trees = await oldTrees(store, flags['older-than'] ?? 90 * DAY, flags.interrupted ?? false);
    const doomed = trees.flat();
    const sessions = doomed.map(({ session }) => session);
    const of = `${plural(sessions.length, 'session')} in ${plural(trees.length, 'tree')}`;
    if (flags['dry-run']) {
      if (flags.json) printJson({ would_remove: sessions });
      else print(`would remove ${of}`);
      return EXIT.done;
    }
    if (sessions.length > 0 && !flags.yes && !(await isConfirmed(doomed, reasonixHome))) {
      note('nothing was removed');
      return EXIT.failed;
    }
    const removed = await removeSessions(store, sessions, reasonixHome);
    const files = await removeSkills(store);
    if (flags.json) printJson({ removed, skill_files: files });
    else print(`removed ${of}${files > 0 ? `, and ${plural(files, 'file')} of skills that no session needs` : ''}`);
    return EXIT.done;
  });

/** Packed skills of sessions that are gone. What cannot be judged stays, and is said. */
async function removeSkills(store: SessionStore): Promise<number> {
  try {
    return await removeUnusedSkills(store);
  } catch (error) {
    if (!ReasonixError.isInstance(error, 'store_corrupt')) throw error;
    noteProblem(`packed skills were not tidied up: ${error.message}`);
    return 0;
  }
}

/** Trees of which no session was written to for `age`, none runs, and none waits to be finished. */
async function oldTrees(store: SessionStore, age: number, withInterrupted: boolean): Promise<SessionSummary[][]> {
  const before = new Date(Date.now() - age).toISOString();
  const isDone = ({ updatedAt, holder, status }: SessionSummary): boolean =>
    updatedAt < before && holder === undefined && (withInterrupted || status !== 'open');
  const trees: SessionSummary[][] = [];
  for (const root of await listAll(store, { kind: 'root' })) {
    if (!isDone(root)) continue;
    const tree = await descendantsOf(store, root);
    if (tree.every(isDone)) trees.push(tree);
  }
  return trees;
}
