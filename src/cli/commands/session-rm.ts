import { existsSync } from 'node:fs';
import { ReasonixError } from '../../core/errors.ts';
import type { SessionSummary } from '../../store/contract.ts';
import { describeOwner } from '../../store/owner.ts';
import { worktreeFolder } from '../../subagents/own-folders.ts';
import { isOrphan, removeFolders } from '../../subagents/worktree/remove.ts';
import type { Handler } from '../command.ts';
import type { sessionRemoveFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { canAsk, readLine } from '../run/approve.ts';
import { descendantsOf, findSession, withStore } from '../session/open-store.ts';
import { printableLine } from '../terminal.ts';

export const sessionRemove: Handler<typeof sessionRemoveFlags> = ({ flags, args }) =>
  withStore(flags, async (store, { folders: { reasonixHome } }) => {
    const doomed = new Map<string, SessionSummary>();
    const lost: string[] = [];
    for (const reference of args) {
      // A crash, or a log that was removed by hand, leaves folders that no session has.
      if (await isOrphan(reference, reasonixHome, store)) lost.push(reference);
      else
        for (const each of await descendantsOf(store, await findSession(store, reference)))
          doomed.set(each.session, each);
    }
    for (const { session, holder } of doomed.values()) {
      if (holder === undefined) continue;
      throw new ReasonixError('session_busy', `session ${session} is being run by ${describeOwner(holder)}`, {
        hint: 'wait until it is done, or stop that process',
      });
    }
    const hasChanges = (session: string) => existsSync(worktreeFolder(reasonixHome, session));
    if (!flags.yes && doomed.size > 0 && !(await isConfirmed([...doomed.values()], hasChanges))) {
      note('nothing was removed');
      return EXIT.failed;
    }
    // Children first: what is left after an interruption is still a tree.
    const removed = [...doomed.keys()].reverse();
    for (const session of removed) {
      await store.delete(session);
      await removeFolders(reasonixHome, session);
    }
    for (const reference of lost) await removeFolders(reasonixHome, reference);
    removed.push(...lost);
    if (flags.json) printJson({ removed });
    else print(`removed ${plural(removed.length, 'session')}`);
    return EXIT.done;
  });

async function isConfirmed(
  sessions: readonly SessionSummary[],
  hasChanges: (session: string) => boolean,
): Promise<boolean> {
  if (!canAsk()) {
    throw new ReasonixError(
      'usage',
      `removing ${plural(sessions.length, 'session')} needs a yes, and nobody can be asked here`,
      {
        hint: 'add --yes',
      },
    );
  }
  for (const { session, skill, title } of sessions) {
    const kept = hasChanges(session) ? '  (its worktree has changes that were not applied)' : '';
    note(`${session}  ${printableLine(skill === undefined ? title : `${skill}: ${title}`)}${kept}`);
  }
  const answer = await readLine(`Remove ${plural(sessions.length, 'session')}? [y]es, [n]o: `);
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}
