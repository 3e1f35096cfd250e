import type { BackgroundHost } from '../session/background.ts';
import { Thread } from '../session/thread.ts';
import type { SessionStore, SessionSummary } from '../store/contract.ts';
import { waitsForChildren } from './awaited.ts';

/** What a turn is without an end and without anybody who runs it. */
export type OpenState =
  /** Nobody goes on with it by himself: whoever began it is gone. */
  | 'interrupted'
  /** It was handed to workers, and waits for one. */
  | 'queued'
  /** It was handed to workers, and waits for its sub-agents. */
  | 'parked';

/**
 * What the open turns among `summaries` are that nobody runs, by session. It goes by the logs alone: whether
 * there are any workers, nobody's log knows. `atEnd` is `agent.background_at_end`.
 */
export async function openStates(
  store: SessionStore,
  summaries: readonly SessionSummary[],
  atEnd: BackgroundHost['atEnd'],
): Promise<Map<string, OpenState>> {
  const open = summaries.filter(({ status, holder }) => status === 'open' && holder === undefined);
  const states = open.map(async ({ session }) => [session, await stateOf(store, session, atEnd)] as const);
  return new Map(await Promise.all(states));
}

async function stateOf(store: SessionStore, session: string, atEnd: BackgroundHost['atEnd']): Promise<OpenState> {
  const thread = Thread.fold(session, await store.read(session));
  if (thread.turn && !thread.turn.terms) return 'interrupted';
  return (await waitsForChildren(store, thread, atEnd)) ? 'parked' : 'queued';
}
