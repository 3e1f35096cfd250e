import type { LoadedConfig } from '../../config/cascade.ts';
import { ReasonixError } from '../../core/errors.ts';
import { openConfiguredStore } from '../../runtime/open-store.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { listAll } from '../../store/list-all.ts';
import { note } from '../output.ts';
import { loadSettings, type SettingsFlags } from '../settings.ts';
import { printable } from '../terminal.ts';

/** Something odd that stops nothing, such as a damaged store that was set aside. */
export const noteProblem = (text: string): void => note(`warning: ${printable(text)}`);

export const openStore = (loaded: LoadedConfig): Promise<SessionStore> => openConfiguredStore(loaded, noteProblem);

/** Runs `work` with the store that the configuration names, and closes it afterwards. */
export async function withStore<T>(
  flags: SettingsFlags,
  work: (store: SessionStore, loaded: LoadedConfig) => Promise<T>,
): Promise<T> {
  const loaded = await loadSettings(flags);
  const store = await openStore(loaded);
  try {
    return await work(store, loaded);
  } finally {
    await store.close();
  }
}

/**
 * The session whose id is `reference`, or starts with it.
 * @throws ReasonixError `session_not_found` when there is none, or more than one.
 */
export async function findSession(store: SessionStore, reference: string): Promise<SessionSummary> {
  const wanted = reference.trim();
  const { sessions } = wanted === '' ? { sessions: [] } : await store.list({ idPrefix: wanted }, { limit: 6 });
  const exact = sessions.find(({ session }) => session === wanted) ?? (sessions.length === 1 ? sessions[0] : undefined);
  if (exact) return exact;
  if (sessions.length === 0) {
    throw new ReasonixError('session_not_found', `there is no session ${JSON.stringify(reference)}`, {
      hint: 'see all of them with: reasonix session list --all',
    });
  }
  const shown = sessions.slice(0, 5).map(({ session, title }) => `${session}  ${title}`);
  throw new ReasonixError('session_not_found', `${reference} is the start of several sessions:\n${shown.join('\n')}`, {
    hint: 'write more of the id',
  });
}

/** A session and everything below it, parents before their children. */
export async function descendantsOf(store: SessionStore, top: SessionSummary): Promise<SessionSummary[]> {
  const tree = await listAll(store, { root: top.root });
  const found = [top];
  for (const each of found) found.push(...tree.filter(({ parent }) => parent?.session === each.session));
  return found;
}
