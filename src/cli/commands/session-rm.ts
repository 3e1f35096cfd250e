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
  withStore(flags, async (store, { config, folders: { reasonixHome } }) => {
    const doomed = new Map<string, SessionSummary>();
    const lost: string[] = [];
    for (const reference of args) {
      // A crash, or a log that was removed by hand, leaves folders that no session has.
      if (await isOrphan(reference, reasonixHome, store)) lost.push(reference);
      else
        for (const each of await descendantsOf(store, await findSession(store, reference)))
          doomed.set(each.session, each);
    }
    const isOthers = config.engine.url !== undefined && !flags.interrupted;
    for (const each of doomed.values()) refuseBusy(each, isOthers);
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

/** `isOthers`: what is open and runs nowhere waits for a worker, or for a part of its tree. */
function refuseBusy({ session, holder, status }: SessionSummary, isOthers: boolean): void {
  if (holder !== undefined) {
    throw new ReasonixError('session_busy', `session ${session} is being run by ${describeOwner(holder)}`, {
      hint: 'wait until it is done, or stop that process',
    });
  }
  if (!isOthers || status !== 'open') return;
  throw new ReasonixError('session_busy', `session ${session} has an unfinished turn, and workers go on with it`, {
    hint: 'end it first: reasonix run --resume REF, then Ctrl-C; or remove it all the same: --interrupted',
  });
}
