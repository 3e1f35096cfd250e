import { Budget } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
import { Parked } from '../core/parked.ts';
import type { Engine, Job, Outcome, RunControl } from '../engines/engine.ts';
import { Session } from '../session/session.ts';
import { type OpenTurn, Thread } from '../session/thread.ts';
import { spentIn } from '../subagents/child-budget.ts';
import { handed } from '../subagents/elsewhere.ts';
import { ledgerOf } from '../subagents/tree-ledger.ts';
import type { Wiring } from './runtime.ts';

/**
 * Runs what is open in a session until it ends or waits for others. Its log says what there is to do; a
 * session that has nothing open is only asked whose call it answered, since that wake-up may have been lost.
 * @throws ReasonixError `session_busy`, `stale_writer` when somebody else has it, `session_newer` when this version
 * cannot read all of it.
 */
export async function runOpenTurn(wiring: Wiring, engine: Engine, job: Job, control: RunControl): Promise<Outcome> {
  const { store } = wiring;
  const thread = Thread.fold(job.session, await store.read(job.session, 0, { whole: true }));
  if (!thread.turn) {
    await wakeCallers(engine, thread);
    return 'ended';
  }
  // Begun by a process that runs it itself.
  if (!thread.turn.terms) return 'ended';
  const cancelled = new AbortController();
  const { seq, cancelling } = thread.turn;
  control.onCancel(({ reason, upTo }) => {
    if (upTo >= seq) cancelled.abort(new ReasonixError('cancelled', reason));
  });
  const isTold = cancelled.signal.aborted && cancelling === undefined;
  if (cancelling !== undefined) cancelled.abort(new ReasonixError('cancelled', cancelling));
  const budget = await budgetOf(wiring, thread, thread.turn);
  if (!isTold && (budget.remainingTime() ?? 1) > 0 && (await waitsForChildren(wiring, thread))) {
    await engine.park(job, deadlineOf(budget));
    return 'parked';
  }
  return run(wiring, engine, { job, thread, budget, signal: cancelled.signal, leaving: control.leaving });
}

interface Work {
  job: Job;
  thread: Thread;
  budget: Budget;
  signal: AbortSignal;
  leaving: AbortSignal;
}

async function run(wiring: Wiring, engine: Engine, { job, thread, budget, signal, leaving }: Work): Promise<Outcome> {
  const { live, host, isolation, tools } = wiring;
  try {
    const session = await Session.open(host, thread, (info) => tools(info.cwd, info.library));
    live.set(session.id, { session, budget });
    try {
      await isolation.ready(session.info);
      await session.run(undefined, { budget, signal, leaving });
    } finally {
      live.delete(session.id);
    }
    await wakeCallers(engine, session.thread);
    return 'ended';
  } catch (error) {
    if (error instanceof Parked) {
      await engine.park(job, deadlineOf(budget));
      if (leaving.aborted) await engine.wake(job);
      return 'parked';
    }
    // Somebody else has ended it between the look at its log and the lease.
    if (!thread.turn && ReasonixError.isInstance(error, 'usage')) return 'busy';
    throw error;
  }
}

/** What the turn has used so far, and what the levels above allow; what their other children use is in the ledger. */
async function budgetOf({ engine, store }: Wiring, { session, started }: Thread, turn: OpenTurn): Promise<Budget> {
  const { limits = {}, setBy = {}, above = [] } = turn.terms ?? {};
  const outer = above.reduce<Budget | undefined>(
    (parent, level) => new Budget(level.limits, { parent, setBy: level.setBy, startedAt: level.since }),
    undefined,
  );
  const spent = spentIn(turn);
  const unknown = (started?.depth ?? 0) - above.length;
  const levels = [...above, { session, turn: turn.seq }];
  const ledger = engine && ledgerOf(await engine.ledger(store), levels);
  return new Budget(limits, { parent: outer, setBy, spent, ledger, startedAt: turn.since, above: outer ? 0 : unknown });
}

/** When the narrowest level runs out of time, epoch milliseconds; nothing for one that already has. */
function deadlineOf(budget: Budget): number | undefined {
  const left = budget.remainingTime();
  return left === undefined || left <= 0 ? undefined : Date.now() + left;
}

/** A look at the children of a turn's open calls, without setting the session up: a wake-up for each child is cheap. */
async function waitsForChildren({ store }: Wiring, { session, openCalls, inbox }: Thread): Promise<boolean> {
  if (openCalls.size === 0 || inbox.length > 0) return false;
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
    const page = await store.list({ open: true, parent: { session } }, { limit: 1000, cursor });
    const isOpen = page.sessions.some(({ parent }) => openCalls.has(parent?.call.split('#')[0] ?? ''));
    if (isOpen) return true;
    cursor = page.next;
  }
  return false;
}

/** Those that may wait for a session: whose call began its turn, and who started it. */
async function wakeCallers(engine: Engine, thread: Thread): Promise<void> {
  const { root, tag } = handed(thread);
  const waiting = new Set([thread.ended?.from?.session, thread.started?.parent?.session]);
  for (const session of waiting) if (session !== undefined) await engine.wake({ session, root, tag });
}
