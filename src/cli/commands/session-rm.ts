import { ReasonixError } from '../../core/errors.ts';
import type { SessionSummary } from '../../store/contract.ts';
import { describeOwner } from '../../store/owner.ts';
import { isOrphan, removeFolders } from '../../subagents/worktree/remove.ts';
import type { Handler } from '../command.ts';
import type { sessionRemoveFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { descendantsOf, findSession, withStore } from '../session/open-store.ts';
import { isConfirmed, removeSessions } from '../session/remove.ts';

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
    if (!flags.yes && doomed.size > 0 && !(await isConfirmed([...doomed.values()], reasonixHome))) {
      note('nothing was removed');
      return EXIT.failed;
    }
    const removed = await removeSessions(store, [...doomed.keys()], reasonixHome);
    for (const reference of lost) await removeFolders(reasonixHome, reference);
    removed.push(...lost);
    if (flags.json) printJson({ removed });
    else print(`removed ${plural(removed.length, 'session')}`);
    return EXIT.done;
  });
