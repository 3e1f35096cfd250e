import { Budget } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
import { earliest, Parked } from '../core/parked.ts';
import type { Cancel, Engine, Job, Outcome, RunControl } from '../engines/engine.ts';
import { Session } from '../session/session.ts';
import { type OpenTurn, Thread } from '../session/thread.ts';
import { momentHere } from '../store/contract.ts';
import { spentIn } from '../subagents/child-budget.ts';
import { handed } from '../subagents/elsewhere.ts';
import { ledgerOf } from '../subagents/tree-ledger.ts';
import { waitsForChildren } from './awaited.ts';
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
  const messages = new Messages();
  control.onCancel((told) => {
    if (told.upTo < seq) return;
    if (told.message) messages.add(told.message);
    else cancelled.abort(new ReasonixError('cancelled', told.reason));
  });
  const isTold = cancelled.signal.aborted && cancelling === undefined;
  if (cancelling !== undefined) cancelled.abort(new ReasonixError('cancelled', cancelling));
  const budget = await budgetOf(wiring, thread, thread.turn);
  const hasNews = isTold || messages.hasNew(thread) || (budget.remainingTime() ?? 1) <= 0;
  if (!hasNews && (await waitsForChildren(store, thread, wiring.host.background?.atEnd))) {
    await engine.park(job, deadlineOf(budget));
    return 'parked';
  }
  return run(wiring, engine, { job, thread, budget, messages, signal: cancelled.signal, leaving: control.leaving });
}

type SentMessage = NonNullable<Cancel['message']>;

/** What other sessions say to one, before and while it runs; each is in its log once, and none behind its turn. */
class Messages {
  readonly #early: SentMessage[] = [];
  #session: Session | undefined;

  add(message: SentMessage): void {
    if (this.#session) put(this.#session, message);
    else this.#early.push(message);
  }

  hasNew(thread: Thread): boolean {
    return this.#early.some((message) => !isIn(thread, message));
  }

  /** The session holds its lease, and takes them from now on. */
  open(session: Session): void {
    this.#session = session;
    for (const message of this.#early) put(session, message);
  }
}

const isIn = ({ received }: Thread, { session, call }: SentMessage): boolean => received.has(`${session} ${call}`);

function put(session: Session, message: SentMessage): void {
  const { thread } = session;
  const { session: sender, call, content } = message;
  const append = session.append(() =>
    thread.turn && !isIn(thread, message)
      ? [{ type: 'message.received', from: { session: sender, call }, content }]
      : [],
  );
  // A log that cannot be written ends the run, and whoever has sent it sends it again.
  append.catch(() => {});
}

interface Work {
  job: Job;
  thread: Thread;
  budget: Budget;
  messages: Messages;
  signal: AbortSignal;
  leaving: AbortSignal;
}

async function run(wiring: Wiring, engine: Engine, work: Work): Promise<Outcome> {
  const { job, thread, budget, messages, signal, leaving } = work;
  const { live, host, isolation, tools } = wiring;
  try {
    const session = await Session.open(host, thread, (info) => tools(info.cwd, info.library));
    live.set(session.id, { session, budget });
    try {
      await isolation.ready(session.info);
      await session.claim();
      messages.open(session);
      await session.run(undefined, { budget, signal, leaving });
    } finally {
      live.delete(session.id);
      wiring.left(session.id);
    }
    await wakeCallers(engine, session.thread);
    return 'ended';
  } catch (error) {
    if (error instanceof Parked) {
      await engine.park(job, earliest([deadlineOf(budget), error.until]));
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
    (parent, level) =>
      new Budget(level.limits, { parent, setBy: level.setBy, startedAt: momentHere(store, level.since) }),
    undefined,
  );
  const spent = spentIn(turn);
  const unknown = (started?.depth ?? 0) - above.length;
  const levels = [...above, { session, turn: turn.seq }];
  const ledger = engine && ledgerOf(await engine.ledger(store), levels);
  return new Budget(limits, {
    parent: outer,
    setBy,
    spent,
    ledger,
    startedAt: momentHere(store, turn.since),
    above: outer ? 0 : unknown,
  });
}

/** When the narrowest level runs out of time, epoch milliseconds; nothing for one that already has. */
function deadlineOf(budget: Budget): number | undefined {
  const left = budget.remainingTime();
  return left === undefined || left <= 0 ? undefined : Date.now() + left;
}

/** Those that may wait for a session: whose call began its turn, and who started it. */
async function wakeCallers(engine: Engine, thread: Thread): Promise<void> {
  const { root, tag } = handed(thread);
  const waiting = new Set([thread.ended?.from?.session, thread.started?.parent?.session]);
  for (const session of waiting) if (session !== undefined) await engine.wake({ session, root, tag });
}
