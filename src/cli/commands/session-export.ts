import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, ReasonixError } from '../../core/errors.ts';
import type { Handler } from '../command.ts';
import type { sessionExportFlags } from '../command-flags.ts';
import { EXIT } from '../failure.ts';
import { jsonLine, note } from '../output.ts';
import { exportHtml } from '../session/export-html.ts';
import { exportMarkdown } from '../session/export-markdown.ts';
import type { ExportedSession } from '../session/exported.ts';
import { descendantsOf, findSession, withStore } from '../session/open-store.ts';

export const sessionExport: Handler<typeof sessionExportFlags> = ({ flags, args }) =>
  withStore(flags, async (store) => {
    const top = await findSession(store, args[0]!);
    const summaries = flags.tree ? await descendantsOf(store, top) : [top];
    const sessions: ExportedSession[] = [];
    for (const summary of summaries) sessions.push({ summary, events: await store.read(summary.session) });
    const text = inFormat(sessions, flags.format ?? 'md');
    if (flags.file === undefined) {
      process.stdout.write(text);
      return EXIT.done;
    }
    const path = resolve(flags.file);
    try {
      await writeFile(path, text);
    } catch (error) {
      throw new ReasonixError('usage', `${path} cannot be written: ${messageOf(error)}`, {
        hint: 'name another file with -o',
        cause: error,
      });
    }
    note(`wrote ${path}`);
    return EXIT.done;
  });

function inFormat(sessions: readonly ExportedSession[], format: 'md' | 'html' | 'jsonl'): string {
  if (format === 'md') return exportMarkdown(sessions);
  if (format === 'html') return exportHtml(sessions);
  return sessions
    .flatMap(({ summary, events }) => events.map((event) => jsonLine({ session: summary.session, ...event })))
    .join('');
}
