import type { StoredEvent } from '../../core/events.ts';
import { Thread } from '../../session/thread.ts';
import type { SessionSummary } from '../../store/contract.ts';
import { messagesJson } from './messages.ts';
import { summaryJson } from './summary-json.ts';

/** A session with its messages, as `session show --json` prints it. */
export function sessionJson(summary: SessionSummary, events: readonly StoredEvent[], state?: string) {
  const { usage, childUsage, cost, steps } = Thread.fold(summary.session, events);
  return {
    ...summaryJson(summary, state),
    steps,
    usage,
    child_usage: childUsage,
    cost: cost ?? null,
    messages: messagesJson(summary.session, events),
  };
}
