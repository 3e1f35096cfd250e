import type { EventOf, StoredEvent } from '../../core/events.ts';

/** What a child's log says of its newest worktree. */
export interface WorktreeState {
  started: EventOf<'worktree.started'>;
  diff: EventOf<'worktree.diff'> | undefined;
  closed: (EventOf<'worktree.closed'> & { at: string }) | undefined;
  /** The diff, or the end, stands behind the end of the newest turn. */
  isSettled: boolean;
}

/** Undefined for a child that has no worktree of its own. */
export function worktreeState(events: readonly StoredEvent[]): WorktreeState | undefined {
  let state: WorktreeState | undefined;
  for (const event of events) {
    if (event.type === 'worktree.started') {
      state = { started: event, diff: undefined, closed: undefined, isSettled: false };
    } else if (!state) {
      // A log before its worktree has nothing to say about it.
    } else if (event.type === 'worktree.diff') {
      Object.assign(state, { diff: event, isSettled: true });
    } else if (event.type === 'worktree.closed') {
      Object.assign(state, { closed: event, isSettled: true });
    } else if (event.type === 'turn.ended') {
      state.isSettled = false;
    }
  }
  return state;
}
