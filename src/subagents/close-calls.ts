import { Parked } from '../core/parked.ts';
import type { Session } from '../session/session.ts';
import type { ToolOutcome } from '../tools/define-tool.ts';
import { usageEvent } from './child-end.ts';
import { type EndedChild, readChild } from './child-log.ts';
import { type Elsewhere, handed } from './elsewhere.ts';
import type { LiveSessions } from './live.ts';
import { startedBy } from './reservations.ts';
import type { SubagentRunner } from './runner.ts';
import type { ResultTexts } from './undelivered.ts';

export interface CloseCallsOptions {
  live: LiveSessions;
  runner: SubagentRunner;
  elsewhere?: Elsewhere | undefined;
  texts: ResultTexts;
}

/** A child, and the call that it worked for: that of an item has its number behind it. */
type Closed = EndedChild & { call: string };

/**
 * Ends the children that calls of a session have started before a crash, for calls that do not go on with
 * them, and gives what came of those of each call.
 * @throws Parked for one that others run: its end wakes the session.
 */
export async function closeCalls(
  options: CloseCallsOptions,
  session: Session,
  calls: readonly string[],
  reason: string,
): Promise<Map<string, ToolOutcome>> {
  const { live, runner, elsewhere, texts } = options;
  const { store } = session.host;
  const outcomes = new Map<string, ToolOutcome>();
  const wanted = calls.filter((call) => session.thread.startedCalls.has(call));
  if (wanted.length === 0) return outcomes;
  const parent = live.get(session.id);
  const closed = new Map<string, Closed[]>();
  for (const { reference, call } of await startedBy(store, session.thread)) {
    const [asked = ''] = call.split('#');
    if (!wanted.includes(asked) || session.thread.background.get(reference)?.call === call) continue;
    const { thread, ended, cut } = readChild(reference, await store.read(reference), { session: session.id, call });
    if (!ended && !cut) continue;
    if (!ended && cut?.terms && elsewhere && parent) {
      await elsewhere.cancel(handed(thread), { reason, upTo: thread.lastSeq });
      await elsewhere.start(handed(thread));
      throw new Parked();
    }
    const end = await runner.close(session, reference, call, reason);
    const settled = parent ? await runner.settle(end, parent, call) : end;
    closed.set(asked, [...(closed.get(asked) ?? []), { ...settled, call }]);
  }
  for (const [call, ends] of closed) outcomes.set(call, outcomeOf(ends, texts));
  return outcomes;
}

function outcomeOf(ends: readonly Closed[], texts: ResultTexts): ToolOutcome {
  const results = ends.map(({ result }) => result);
  const outcome: ToolOutcome = {
    content: texts(results).join('\n\n'),
    isBounded: true,
    isError: !results.some(({ turn }) => turn.status === 'completed' || turn.status === 'limit'),
    events: ends.map(({ call, result }) => usageEvent(call, result)),
  };
  const [only] = results;
  return only && results.length === 1 ? { ...outcome, child: only.reference } : outcome;
}
