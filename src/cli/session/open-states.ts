import type { Config } from '../../config/config.ts';
import { type OpenState, openStates } from '../../runtime/open-state.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { statusOf } from '../format.ts';

/** What is told of sessions: their status, and of those that workers go on with what they wait for. */
export async function statesOf(
  store: SessionStore,
  summaries: readonly SessionSummary[],
  { store: { url }, agent }: Config,
): Promise<(summary: SessionSummary) => string> {
  // The sessions of one machine are handed to nobody.
  const found =
    url === undefined ? new Map<string, OpenState>() : await openStates(store, summaries, agent.background_at_end);
  return (summary) => found.get(summary.session) ?? statusOf(summary);
}

/** What to do about a turn without an end that nobody runs. */
export function openHint(state: string, session: string): string | undefined {
  if (state === 'interrupted') return `this turn was cut; finish it: reasonix run --resume ${session}`;
  if (state === 'queued') return `this turn waits for a worker; where none is: reasonix worker --once`;
  return undefined;
}
