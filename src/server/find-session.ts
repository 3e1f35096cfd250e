import { ReasonixError } from '../core/errors.ts';
import type { SessionStore, SessionSummary } from '../store/contract.ts';

/** The session of exactly this id. @throws ReasonixError `session_not_found`. */
export async function findSession(store: SessionStore, id: string): Promise<SessionSummary> {
  // An id is the first of those that begin with it.
  const { sessions } = id === '' ? { sessions: [] } : await store.list({ idPrefix: id }, { limit: 1, order: 'oldest' });
  const [found] = sessions;
  if (found?.session === id) return found;
  throw new ReasonixError('session_not_found', `there is no session ${JSON.stringify(id.slice(0, 100))}`, {
    hint: 'GET /api/v1/sessions lists them; ids are written in full',
  });
}
