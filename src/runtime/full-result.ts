import { isReference } from '../core/ids.ts';
import { messageId } from '../middleware/compaction/head.ts';
import type { SessionStore } from '../store/contract.ts';
import type { Isolation } from '../subagents/isolation.ts';
import type { FullResultLookup } from '../tools/read-result.ts';

/**
 * Finds whole texts in the log: by the id of a call of the session, by the id that a cut message of the
 * user's has in its marker (its place in the log), or of a child by its reference;
 * `sa_….diff` is what it changed in its worktree.
 */
export function fullResultLookup(store: SessionStore, isolation: Isolation): FullResultLookup {
  return async (session, id) => {
    const events = await store.read(session);
    const reference = id.replace(/\.diff$/, '');
    if (isReference(reference)) {
      const isChild = events.some((event) => event.type === 'tool.result' && event.child === reference);
      if (!isChild) return undefined;
      if (reference !== id) return isolation.diffText(reference);
      const ended = (await store.read(id)).findLast((event) => event.type === 'turn.ended');
      return ended?.type === 'turn.ended' ? ended.answer : undefined;
    }
    const message = events.find((event) => event.type === 'user.message' && messageId(event.seq) === id);
    if (message?.type === 'user.message') return message.content;
    const result = events.findLast((event) => event.type === 'tool.result' && event.call === id);
    return result?.type === 'tool.result' ? (result.full ?? result.content) : undefined;
  };
}
