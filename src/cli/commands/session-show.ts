import { totalTokens } from '../../core/usage.ts';
import { Thread } from '../../session/thread.ts';
import type { Handler } from '../command.ts';
import type { sessionShowFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { costText, fullCount, plural } from '../format.ts';
import { dataColumns, note, print, printJson } from '../output.ts';
import { contextOf } from '../session/context.ts';
import { contextLines } from '../session/context-lines.ts';
import { logLines } from '../session/log-lines.ts';
import { openHint, statesOf } from '../session/open-states.ts';
import { findSession, withStore } from '../session/open-store.ts';
import { sessionJson } from '../session/session-json.ts';
import { summaryJson } from '../session/summary-json.ts';
import { transcriptOf } from '../session/transcript.ts';
import { usageOf } from '../session/usage.ts';
import { usageLines } from '../session/usage-lines.ts';
import { shortPath } from '../settings.ts';
import { paintFor, printable, printableLine } from '../terminal.ts';

/** Lines of a tool result that are shown without `--full`. */
const SHOWN_LINES = 20;
const SHOWN_TEXT = 4_000;

export const sessionShow: Handler<typeof sessionShowFlags> = ({ flags, args }) =>
  withStore(flags, async (store, loaded) => {
    const summary = await findSession(store, args[0]!);
    const events = await store.read(summary.session);
    const state = (await statesOf(store, [summary], loaded.config))(summary);
    if (flags.log) {
      if (flags.json) printJson({ ...summaryJson(summary, state), log: events });
      else
        for (const line of logLines(events, { columns: dataColumns(), paint: paintFor(process.stdout) })) print(line);
      return EXIT.done;
    }
    if (flags.usage) {
      const report = usageOf(events);
      const look = { columns: dataColumns(), paint: paintFor(process.stdout), isFull: flags.full ?? false };
      if (flags.json) printJson({ session: summary.session, model: summary.model, ...report });
      else for (const line of usageLines(report, look)) print(line);
      return EXIT.done;
    }
    const thread = Thread.fold(summary.session, events);
    if (flags.context) {
      const context = contextOf(thread, events, loaded);
      if (flags.json) printJson({ session: summary.session, model: summary.model, ...context });
      else
        for (const line of contextLines(context, { columns: dataColumns(), paint: paintFor(process.stdout) }))
          print(line);
      return EXIT.done;
    }
    if (flags.json) {
      printJson(sessionJson(summary, events, state));
      return EXIT.done;
    }
    const paint = paintFor(process.stdout);
    const skill = summary.skill === undefined ? '' : ` · skill ${printableLine(summary.skill)}`;
    print(`${paint('bold', summary.session)} · ${state}${skill} · ${printableLine(summary.model)}`);
    print(
      paint(
        'dim',
        [
          shortPath(summary.cwd),
          plural(thread.steps, 'step'),
          `${fullCount(totalTokens(thread.usage))} tokens`,
          ...(thread.cost ? [costText(thread.cost)] : []),
        ].join(' · '),
      ),
    );
    for (const { kind, title, text } of transcriptOf(events)) {
      print('');
      print(paint(kind === 'note' ? 'dim' : kind === 'error' ? 'red' : 'cyan', `▸ ${printableLine(title)}`));
      const shown = kind === 'result' && !flags.full ? clipped(text) : text;
      if (shown !== '') print(printable(shown));
    }
    const hint = openHint(state, summary.session);
    if (hint !== undefined) note(`\n${hint}`);
    return EXIT.done;
  });

function clipped(text: string): string {
  const lines = text.slice(0, SHOWN_TEXT).split('\n');
  const shown = lines.slice(0, SHOWN_LINES).join('\n');
  return shown.length === text.length
    ? text
    : `${shown}\n… ${fullCount(text.length - shown.length)} more characters; --full shows them`;
}
