import type { Handler } from '../command.ts';
import type { sessionListFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { ago } from '../format.ts';
import { dataColumns, note, print, printJson } from '../output.ts';
import { statesOf } from '../session/open-states.ts';
import { withStore } from '../session/open-store.ts';
import { summaryJson } from '../session/summary-json.ts';
import { shortPath } from '../settings.ts';
import { paintFor, printableLine, table } from '../terminal.ts';

export const sessionList: Handler<typeof sessionListFlags> = ({ flags }) =>
  withStore(flags, async (store, { config, folders }) => {
    const filter = flags.all ? {} : { kind: 'root' as const, cwd: folders.cwd };
    const { sessions, next } = await store.list(filter, { limit: Math.min(1000, flags.limit ?? 50), by: 'updated' });
    const stateOf = await statesOf(store, sessions, config);
    if (flags.json) {
      printJson({ sessions: sessions.map((each) => summaryJson(each, stateOf(each))), more: next !== undefined });
      return EXIT.done;
    }
    const head = ['SESSION', 'STATE', 'USED', ...(flags.all ? ['SKILL', 'FOLDER'] : []), 'TASK'];
    const rows = sessions.map((session) => [
      session.session,
      stateOf(session),
      ago(session.updatedAt),
      ...(flags.all ? [printableLine(session.skill ?? ''), shortPath(session.cwd)] : []),
      printableLine(session.title),
    ]);
    const [first = '', ...lines] = table(head, rows, dataColumns());
    if (sessions.length > 0) print(paintFor(process.stdout)('bold', first));
    for (const line of lines) print(line);
    if (sessions.length === 0)
      note(flags.all ? 'no sessions yet' : 'no sessions in this folder; --all shows those of every folder');
    if (next !== undefined) note('there are more: --limit shows them');
    return EXIT.done;
  });
