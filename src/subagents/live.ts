import type { Budget } from '../core/budget.ts';
import type { Session } from '../session/session.ts';
import type { Slot } from './slots.ts';

/** A session that runs a turn in this process right now. */
export interface LiveSession {
  session: Session;
  budget: Budget;
  /** A child's place among those that run; a root has none. */
  slot?: Slot | undefined;
}

/** The sessions that this process runs, by id: how a tool finds the session that called it. */
export type LiveSessions = Map<string, LiveSession>;
