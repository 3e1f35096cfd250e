import { oneLine } from '../../core/text.ts';
import { type ExportedSession, factsOf } from './exported.ts';
import { type Passage, transcriptOf } from './transcript.ts';

/** A session, or several, as markdown; what tools said is fenced, what models and people said is not. */
export function exportMarkdown(sessions: readonly ExportedSession[]): string {
  return `${sessions.map(sectionOf).join('\n\n---\n\n')}\n`;
}

function sectionOf(session: ExportedSession): string {
  const { summary, events } = session;
  const facts = factsOf(session).map(([name, value]) => `- ${name}: ${oneLine(value)}`);
  return [
    `# ${oneLine(summary.title) || summary.session}`,
    facts.join('\n'),
    ...transcriptOf(events).map(passageText),
  ].join('\n\n');
}

function passageText({ kind, title, text }: Passage): string {
  if (kind === 'note') return `*${oneLine(title)}*`;
  const heading = `## ${oneLine(title)}`;
  if (text.trim() === '') return heading;
  return kind === 'user' || kind === 'assistant' ? `${heading}\n\n${text}` : `${heading}\n\n${fenced(text)}`;
}

/** A fence longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
