import { LeaseKeeper } from '../../session/lease-keeper.ts';
import { processOwner } from '../../store/owner.ts';
import { appliedText } from '../../subagents/changes-text.ts';
import { Isolation } from '../../subagents/isolation.ts';
import type { Handler } from '../command.ts';
import type { sessionApplyFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { print, printJson } from '../output.ts';
import { findSession, withStore } from '../session/open-store.ts';
import { printable } from '../terminal.ts';

export const sessionApply: Handler<typeof sessionApplyFlags> = ({ flags, args: [given = ''] }) =>
  withStore(flags, async (store, { folders }) => {
    const { session } = await findSession(store, given);
    const leases = new LeaseKeeper(store, processOwner());
    const isolation = new Isolation({ store, leases, reasonixHome: folders.reasonixHome, closed: () => {} });
    const applied = await isolation.apply(session, { discard: flags.discard });
    const { reference, how, isNew, folder, files } = applied;
    if (flags.json) printJson({ session: reference, how, new: isNew, folder, files });
    else print(printable(appliedText(applied)));
    return EXIT.done;
  });
