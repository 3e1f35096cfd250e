import type { SessionEvent, StoredEvent } from '../core/events.ts';
import { clipGraphemes, oneLine } from '../core/text.ts';
import type { SessionSummary } from './contract.ts';

/** What a listing shows of a session, apart from who holds it: a fold over its events. */
export type Summary = Omit<SessionSummary, 'holder'>;

export const SUMMARY_EVENTS = [
  'session.started',
  'user.message',
  'turn.ended',
] as const satisfies SessionEvent['type'][];

const TITLE_GRAPHEMES = 120;
/** More than any title of that many graphemes needs; keeps long messages cheap. */
const TITLE_WINDOW = 4096;

export function emptySummary(session: string, at: string): Summary {
  return {
    session,
    kind: session.startsWith('sa_') ? 'child' : 'root',
    root: session,
    title: '',
    cwd: '',
    model: '',
    depth: 0,
    createdAt: at,
    updatedAt: at,
    lastSeq: 0,
    status: 'idle',
  };
}

/** Folds one event into `summary`, which is changed. */
export function applyToSummary(summary: Summary, event: StoredEvent): void {
  summary.updatedAt = event.at;
  summary.lastSeq = event.seq;
  switch (event.type) {
    case 'session.started':
      summary.kind = event.kind;
      summary.root = event.root;
      summary.parent = event.parent;
      summary.skill = event.skill?.name;
      summary.cwd = event.cwd;
      summary.model = event.model.name;
      summary.depth = event.depth;
      break;
    case 'user.message':
      if (event.origin === 'nudge' || event.origin === 'notice') break;
      summary.status = 'open';
      if (summary.title === '') summary.title = titleOf(event.content);
      break;
    case 'turn.ended':
      summary.status = event.status;
      break;
  }
}

/** The first line of `text` that is not blank. */
function titleOf(text: string): string {
  const start = text.slice(0, TITLE_WINDOW).trimStart();
  return clipGraphemes(oneLine(start.split(/[\r\n\u2028\u2029]/, 1)[0] ?? ''), TITLE_GRAPHEMES).toWellFormed();
}
