import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import type { Handler } from '../command.ts';
import type { sessionTreeFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { dataColumns, print, printJson } from '../output.ts';
import { followTree } from '../session/follow.ts';
import { findSession, withStore } from '../session/open-store.ts';
import { treeJson, treeText } from '../session/tree.ts';
import { SessionWatch } from '../session/watch.ts';
import { paintFor } from '../terminal.ts';

export const sessionTree: Handler<typeof sessionTreeFlags> = ({ flags, args }) =>
  withStore(flags, async (store) => {
    const top = await findSession(store, args[0]!);
    if (flags.follow) return followTree(store, top, { json: flags.json === true });
    await showTree(store, top, flags.json === true);
    return EXIT.done;
  });

async function showTree(store: SessionStore, top: SessionSummary, json: boolean): Promise<void> {
  const watch = new SessionWatch(store, top);
  await watch.look();
  if (json) printJson(treeJson(watch));
  else for (const line of treeText(watch, { columns: dataColumns(), paint: paintFor(process.stdout) })) print(line);
}
