import { isReference } from '../core/ids.ts';
import type { SessionStore } from '../store/contract.ts';
import type { FullResultLookup } from '../tools/read-result.ts';

/** Finds whole results in the log: by the id of a call of the session, or of a child by its reference. */
export function fullResultLookup(store: SessionStore): FullResultLookup {
  return async (session, id) => {
    const events = await store.read(session);
    if (isReference(id)) {
      const isChild = events.some((event) => event.type === 'tool.result' && event.child === id);
      if (!isChild) return undefined;
      const ended = (await store.read(id)).findLast((event) => event.type === 'turn.ended');
      return ended?.type === 'turn.ended' ? ended.answer : undefined;
    }
    const result = events.findLast((event) => event.type === 'tool.result' && event.call === id);
    return result?.type === 'tool.result' ? (result.full ?? result.content) : undefined;
  };
}
