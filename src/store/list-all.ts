import type { ListFilter, SessionStore, SessionSummary } from './contract.ts';

/** All pages of a listing, oldest first. */
export async function listAll(store: SessionStore, filter?: ListFilter): Promise<SessionSummary[]> {
  const all: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list(filter, { limit: 1000, cursor, order: 'oldest' });
    all.push(...page.sessions);
    cursor = page.next;
  } while (cursor !== undefined);
  return all;
}
