import { ReasonixError } from '../../core/errors.ts';
import type { SessionSummary } from '../../store/contract.ts';
import { describeOwner } from '../../store/owner.ts';
import type { Handler } from '../command.ts';
import type { sessionRemoveFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';
import { note, print, printJson } from '../output.ts';
import { canAsk, readLine } from '../run/approve.ts';
import { descendantsOf, findSession, withStore } from '../session/open-store.ts';
import { printableLine } from '../terminal.ts';

export const sessionRemove: Handler<typeof sessionRemoveFlags> = ({ flags, args }) =>
  withStore(flags, async (store) => {
    const doomed = new Map<string, SessionSummary>();
    for (const reference of args) {
      for (const each of await descendantsOf(store, await findSession(store, reference)))
        doomed.set(each.session, each);
    }
    for (const { session, holder } of doomed.values()) {
      if (holder === undefined) continue;
      throw new ReasonixError('session_busy', `session ${session} is being run by ${describeOwner(holder)}`, {
        hint: 'wait until it is done, or stop that process',
      });
    }
    if (!flags.yes && !(await isConfirmed([...doomed.values()]))) {
      note('nothing was removed');
      return EXIT.failed;
    }
    // Children first: what is left after an interruption is still a tree.
    const removed = [...doomed.keys()].reverse();
    for (const session of removed) await store.delete(session);
    if (flags.json) printJson({ removed });
    else print(`removed ${plural(removed.length, 'session')}`);
    return EXIT.done;
  });

async function isConfirmed(sessions: readonly SessionSummary[]): Promise<boolean> {
  if (!canAsk()) {
    throw new ReasonixError(
      'usage',
      `removing ${plural(sessions.length, 'session')} needs a yes, and nobody can be asked here`,
      {
        hint: 'add --yes',
      },
    );
  }
  for (const { session, skill, title } of sessions)
    note(`${session}  ${printableLine(skill === undefined ? title : `${skill}: ${title}`)}`);
  const answer = await readLine(`Remove ${plural(sessions.length, 'session')}? [y]es, [n]o: `);
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}
