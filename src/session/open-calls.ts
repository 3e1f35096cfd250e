import type { EventOf } from '../core/events.ts';
import type { Thread } from './thread.ts';

/**
 * A result for every call that is still open, so that the history stays one a provider takes. `text`
 * says why there is no other.
 */
export function closingResults(thread: Thread, text: string): EventOf<'tool.result'>[] {
  return [...thread.openCalls.values()].map(({ id, name }) => ({
    type: 'tool.result',
    call: id,
    name,
    content: text,
    isError: true,
  }));
}
