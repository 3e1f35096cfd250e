import type { StoredEvent } from '../../core/events.ts';
import type { SessionSummary } from '../../store/contract.ts';

/** A session with its log, ready to be written in some format. */
export interface ExportedSession {
  summary: SessionSummary;
  events: readonly StoredEvent[];
}

/** What stands below the title of every export. */
export function factsOf({ summary }: ExportedSession): [name: string, value: string][] {
  const { session, skill, parent, model, cwd, createdAt, updatedAt } = summary;
  return [
    ['session', session],
    ...(parent ? [['parent', parent.session] as [string, string]] : []),
    ...(skill === undefined ? [] : [['skill', skill] as [string, string]]),
    ['model', model],
    ['folder', cwd],
    ['started', createdAt],
    ['last event', updatedAt],
  ];
}
