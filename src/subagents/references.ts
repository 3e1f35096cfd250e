import { ReasonixError } from '../core/errors.ts';
import { isReference } from '../core/ids.ts';
import { prompt } from '../core/prompts.ts';
import { Thread } from '../session/thread.ts';
import type { SessionStore } from '../store/contract.ts';

/** A child session that a reference names. */
export interface Referenced {
  thread: Thread;
  /** It belongs to a tree that this one was forked from: it may be copied, not changed. */
  isAncestral: boolean;
}

/**
 * Finds the child that `reference` names, for a caller whose tree has the root `root`.
 * @throws ReasonixError `reference_unknown` or `reference_foreign`, in words for a model.
 */
export async function findReference(store: SessionStore, reference: string, root: string): Promise<Referenced> {
  const events = isReference(reference) ? await store.read(reference) : [];
  const thread = Thread.fold(reference, events);
  if (!thread.started) throw new ReasonixError('reference_unknown', prompt('reference-unknown', { reference }));
  if (thread.started.root === root) return { thread, isAncestral: false };
  if (await isForkOf(store, root, thread.started.root)) return { thread, isAncestral: true };
  throw new ReasonixError('reference_foreign', prompt('reference-foreign', { reference }));
}

/** Walks up the forks that led to the tree of `root`. */
async function isForkOf(store: SessionStore, root: string, ancestor: string): Promise<boolean> {
  const startOf = async (id: string) => Thread.fold(id, await store.read(id)).started;
  const seen = new Set<string>();
  for (let current = root; !seen.has(current); ) {
    seen.add(current);
    const source = (await startOf(current))?.forkedFrom;
    const above = source && (await startOf(source.session))?.root;
    if (above === undefined) return false;
    if (above === ancestor) return true;
    current = above;
  }
  return false;
}

/** The answer of a child whose turn has ended. @throws ReasonixError `reference_busy` while it runs. */
export function answerOf(reference: string, thread: Thread): { skill: string; status: string; answer: string } {
  if (thread.turn || !thread.lastTurn)
    throw new ReasonixError('reference_busy', prompt('reference-no-answer', { reference }));
  const { status, answer, reason } = thread.lastTurn;
  return { skill: thread.started?.skill?.name ?? '', status, answer: answer || reason || '' };
}
