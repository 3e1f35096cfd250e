import type { EventOf, SessionEvent, StoredEvent } from '../core/events.ts';
import { prompt } from '../core/prompts.ts';
import { noUsage } from '../core/usage.ts';
import { closingResults } from './open-calls.ts';
import { Thread } from './thread.ts';

/** Events that belong to the source alone: its identity, and what its children cost. */
const NOT_COPIED = new Set<SessionEvent['type']>([
  'session.started',
  'usage',
  'tool.started',
  'subagent.started',
  'subagent.ended',
  'worktree.started',
  'worktree.diff',
  'worktree.closed',
]);

/**
 * The history that a fork starts with. Tokens stay with the source, so that a sum over sessions counts
 * each once; a turn that the source has not ended is closed in the copy.
 */
export function forkHistory(session: string, events: readonly StoredEvent[]): SessionEvent[] {
  const copied: SessionEvent[] = [];
  for (const { seq: _seq, at: _at, ...event } of events) {
    if (NOT_COPIED.has(event.type)) continue;
    if (event.type === 'assistant.message') copied.push({ ...event, usage: noUsage(), cost: 0 });
    else if (event.type === 'context.compacted') copied.push(withoutUsage(event));
    else copied.push(event as SessionEvent);
  }
  const thread = Thread.fold(session, events);
  copied.push(...closingResults(thread, prompt('interrupted-call')));
  if (thread.background.size > 0) {
    const references = [...thread.background.keys()].join(', ');
    copied.push({ type: 'user.message', origin: 'notice', content: prompt('not-forked', { references }) });
  }
  if (thread.turn) {
    copied.push({
      type: 'turn.ended',
      status: 'cancelled',
      answer: thread.turn.lastText,
      reason: 'forked in the middle of the turn',
    });
  }
  return copied;
}

function withoutUsage(event: EventOf<'context.compacted'>): EventOf<'context.compacted'> {
  const { usage: _usage, cost: _cost, ...kept } = event;
  return kept;
}
