import type { Budget } from '../core/budget.ts';
import type { Session } from '../session/session.ts';
import type { Background } from './background.ts';
import type { Reservations } from './reservations.ts';
import type { Slot } from './slots.ts';

/** A session that runs a turn in this process right now. */
export interface LiveSession {
  session: Session;
  budget: Budget;
  /** A child's place among those that run; a root has none. */
  slot?: Slot | undefined;
  /** The children that run beside its turn. */
  background?: Background | undefined;
  /** The places of children of before a crash that were not gone on with yet. */
  reserved?: Promise<Reservations> | undefined;
  /** Calls whose children this process has let in. */
  letIn?: Set<string> | undefined;
}

/** The sessions that this process runs, by id: how a tool finds the session that called it. */
export type LiveSessions = Map<string, LiveSession>;

/** The skills that lead to a session, from the root's child down to its own; empty for a root. */
export function skillPath(live: LiveSessions, session: string): string[] {
  const path: string[] = [];
  const seen = new Set<string>();
  for (let id: string | undefined = session; id !== undefined && !seen.has(id); ) {
    seen.add(id);
    const above: Session | undefined = live.get(id)?.session;
    if (above?.info.skill) path.unshift(above.info.skill.name);
    id = above?.thread.turn?.from?.session;
  }
  return path;
}
