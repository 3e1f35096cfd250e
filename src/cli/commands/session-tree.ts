import type { Handler } from '../command.ts';
import type { readFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { dataColumns, print, printJson } from '../output.ts';
import { findSession, withStore } from '../session/open-store.ts';
import { readTree, treeJson, treeText } from '../session/tree.ts';
import { paintFor } from '../terminal.ts';

export const sessionTree: Handler<typeof readFlags> = ({ flags, args }) =>
  withStore(flags, async (store) => {
    const tree = await readTree(store, await findSession(store, args[0]!));
    if (flags.json) printJson(treeJson(tree));
    else for (const line of treeText(tree, { columns: dataColumns(), paint: paintFor(process.stdout) })) print(line);
    return EXIT.done;
  });
