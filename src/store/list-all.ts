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

/** Whether `test` holds for a session of a listing, which it mostly does for one of the oldest. */
export async function isListed(
  store: SessionStore,
  filter: ListFilter,
  test: (summary: SessionSummary) => boolean,
): Promise<boolean> {
  let cursor: string | undefined;
  for (let limit = 10; ; limit = 1000) {
    const { sessions, next } = await store.list(filter, { limit, cursor, order: 'oldest' });
    if (sessions.some(test)) return true;
    if (next === undefined) return false;
    cursor = next;
  }
}
