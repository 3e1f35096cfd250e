import { ReasonixError } from '../core/errors.ts';
import { isReference } from '../core/ids.ts';
import { messageId } from '../middleware/compaction/head.ts';
import type { SessionStore } from '../store/contract.ts';
import type { Isolation } from '../subagents/isolation.ts';
import { findReference } from '../subagents/references.ts';
import type { FullResultLookup } from '../tools/read-result.ts';

/** Whether the child belongs to the tree of `root`, or to one that it was forked from. */
async function isOfTree(store: SessionStore, reference: string, root: string): Promise<boolean> {
  try {
    await findReference(store, reference, root);
    return true;
  } catch (error) {
    if (ReasonixError.isInstance(error, 'reference_unknown') || ReasonixError.isInstance(error, 'reference_foreign'))
      return false;
    throw error;
  }
}

/**
 * Finds whole texts in the log: by the id of a call of the session, by the id that a cut message of the
 * user's has in its marker (its place in the log), or of a child of the same tree by its reference;
 * `sa_….diff` is what it changed in its worktree.
 */
export function fullResultLookup(store: SessionStore, isolation: Isolation): FullResultLookup {
  return async (session, id) => {
    const events = await store.read(session);
    const reference = id.replace(/\.diff$/, '');
    if (isReference(reference)) {
      const first = events.find((event) => event.type === 'session.started');
      if (first?.type !== 'session.started' || !(await isOfTree(store, reference, first.root))) return undefined;
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
