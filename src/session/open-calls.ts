import type { SessionEvent } from '../core/events.ts';
import type { ToolOutcome } from '../tools/define-tool.ts';
import type { Thread } from './thread.ts';

/**
 * A result for every call that is still open, so that the history stays one a provider takes: what came of
 * its children, else `text`, which says why there is no other.
 */
export function closingResults(
  thread: Thread,
  text: string,
  outcomes: ReadonlyMap<string, ToolOutcome> = new Map(),
): SessionEvent[] {
  return [...thread.openCalls.values()].flatMap(({ id, name }): SessionEvent[] => {
    const { events = [], child, content } = outcomes.get(id) ?? { content: text };
    const result = { type: 'tool.result' as const, call: id, name, content, isError: true };
    return [...events, child === undefined ? result : { ...result, child }];
  });
}
