import { isCancellation } from '../core/errors.ts';
import type { Session } from '../session/session.ts';
import type { OpenTurn, Thread } from '../session/thread.ts';
import type { Terms } from '../session/turn-result.ts';
import type { limitsOf } from './child-budget.ts';
import type { LiveSession } from './live.ts';

/** A session that somebody else is to run: ids only, the rest stands in its log. */
export interface Handed {
  session: string;
  root: string;
  tag?: string | undefined;
}

/** What the run of a session is told while it goes on. */
export interface Told {
  reason: string;
  upTo: number;
  message?: { session: string; call: string; content: string } | undefined;
}

/** Where children run that their caller leaves to others while its own turn is parked. */
export interface Elsewhere {
  start(child: Handed): Promise<void>;
  /** Ends the turn of a session that began at or before the event `upTo`, or gives it a message. */
  cancel(child: Handed, cancel: Told): Promise<void>;
}

export const handed = ({ started, session }: Pick<Thread, 'started' | 'session'>): Handed => ({
  session,
  root: started?.root ?? session,
  tag: started?.tag,
});

/** The terms of a child's turn: its own limits below those of its caller's levels, and what the caller was allowed. */
export function termsBelow(
  { session }: LiveSession,
  { limits, setBy }: ReturnType<typeof limitsOf>,
): Terms | undefined {
  const { turn } = session.thread;
  if (!turn?.terms) return undefined;
  const { above, allow, yes } = turn.terms;
  const own = {
    session: session.id,
    turn: turn.seq,
    since: turn.since,
    limits: turn.terms.limits,
    setBy: turn.terms.setBy,
  };
  return { limits, setBy, above: [...above, own], allow, yes };
}

/** Logs once that a turn is to end, so that whoever goes on with it does not take it up again. */
export async function logCancelling(session: Session, signal: AbortSignal): Promise<void> {
  if (!signal.aborted || !isCancellation(signal.reason)) return;
  const { message } = signal.reason as Error;
  await session.append(() => (mayLog(session.thread.turn) ? [{ type: 'turn.cancelling', reason: message }] : []));
}

const mayLog = (turn: OpenTurn | undefined): boolean => turn !== undefined && turn.cancelling === undefined;
