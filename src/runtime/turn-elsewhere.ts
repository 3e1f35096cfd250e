import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, ReasonixError } from '../core/errors.ts';
import type { EventOf, StoredEvent } from '../core/events.ts';
import { type LimitHit, limitReason } from '../core/limits.ts';
import type { Engine } from '../engines/engine.ts';
import type { Observation } from '../session/host.ts';
import type { Session } from '../session/session.ts';
import { type TurnInput, type TurnResult, turnResult } from '../session/turn-result.ts';
import { canFollow, momentHere, type SessionStore, type SessionSummary } from '../store/contract.ts';
import { listAll } from '../store/list-all.ts';
import { handed } from '../subagents/elsewhere.ts';
import { CancelInLogs, type TurnStop } from './cancel-elsewhere.ts';
import { Unattended } from './unattended.ts';

/** Milliseconds between two looks at the sessions of a tree that others run. */
const INTERVAL = 200;

/** Milliseconds until a request to cancel is sent again: an engine may have forgotten the one before. */
const CANCEL_AGAIN = 1_000;

/** Milliseconds that an engine has to take a request to cancel. */
const UNHEARD = 2_000;

/** Milliseconds behind the limit of its time that a turn is left to workers. */
const TIME_GRACE = 3_000;

/** Milliseconds between two looks whether anybody runs a turn whose time is up. */
const TIME_AGAIN = 1_000;

/** Milliseconds that a log may keep the request to an engine waiting. */
const LOG_FIRST = 500;

export interface ElsewhereOptions {
  engine: Engine;
  store: SessionStore;
  observe(observation: Observation): void;
  /** Told who a session is, before its first event is observed. */
  met(started: EventOf<'session.started'>): void;
  /** Told once when nobody runs it. */
  onProblem(text: string): void;
  signal: AbortSignal;
}

/**
 * Has others run the turn that `input` begins, or the one that is open, and watches the logs until it has
 * ended. Aborting the signal cancels it wherever it runs, and the end is still waited for; what nobody runs
 * is ended here, and what runs while the engine does not answer is left.
 * @throws ReasonixError `session_busy` when somebody else is about to begin a turn, `usage` without anything to run,
 * `session_not_found` when the session is removed meanwhile, `cancelled` when the engine does not answer.
 */
export async function runElsewhere(
  session: Session,
  input: TurnInput | undefined,
  options: ElsewhereOptions,
): Promise<TurnResult> {
  await session.catchUp();
  const watch = new Watch(session, options);
  await watch.begin();
  if (session.thread.turn) {
    const result = await watch.run();
    if (!input || result.status === 'cancelled') return result;
  }
  if (!input) {
    throw new ReasonixError('usage', `session ${session.id} has no unfinished turn`, { hint: 'give it a task' });
  }
  try {
    await session.begin(input);
  } finally {
    await session.release();
  }
  return watch.run();
}

/** A session that others run, and everything below it, as the store has it. */
class Watch {
  readonly #session: Session;
  readonly #options: ElsewhereOptions;
  /** What was observed of each session, by the number of its last event. */
  readonly #seen = new Map<string, number>();
  readonly #below = new Map<string, SessionSummary>();
  readonly #unattended: Unattended;
  readonly #cancelled: CancelInLogs;
  #cancelledAt: number | undefined;
  #cancelledFirst: number | undefined;
  #isHeard = false;
  #timeLookedAt = Number.NEGATIVE_INFINITY;
  #fault: unknown;

  constructor(session: Session, options: ElsewhereOptions) {
    this.#session = session;
    this.#options = options;
    this.#unattended = new Unattended(options.store, session.info, options.onProblem);
    this.#cancelled = new CancelInLogs(options.store, session.thread);
  }

  /** What there is already was observed when it happened. */
  async begin(): Promise<void> {
    for (const { session, lastSeq } of await this.#news()) this.#seen.set(session, lastSeq);
  }

  /** Starts the open turn and stays until it has ended. */
  async run(): Promise<TurnResult> {
    const { engine, store, signal } = this.#options;
    const { thread } = this.#session;
    const stop = new AbortController();
    let tell = () => {};
    const follow = canFollow(store) ? store.follow(thread.session, thread.lastSeq, stop.signal) : undefined;
    const watching = follow && told(follow, () => tell());
    try {
      this.#tellEngine(engine.start(handed(thread)));
      while (thread.turn) {
        if (signal.aborted) {
          await this.#cancel();
          await this.#assertHeard();
        }
        await this.#look();
        await this.#unattended.look();
        if (this.#fault && thread.turn) throw this.#fault;
        const left = await this.#endInTime();
        if (left) return turnResult({ answer: thread.turn?.lastText ?? '', ...left }, thread.turn);
        if (thread.turn) await pause(signal, (wake) => (tell = wake));
      }
      await this.#look();
      return turnResult(thread.lastTurn ?? { status: 'failed', answer: '' }, thread.ended);
    } finally {
      stop.abort();
      await watching;
    }
  }

  /** Observes what is new: children before their callers' results, and the session itself last. */
  async #look(): Promise<void> {
    const { store, observe } = this.#options;
    const { thread } = this.#session;
    const own = await store.read(thread.session, thread.lastSeq);
    const news: { session: string; event: StoredEvent }[] = own.map((event) => ({ session: thread.session, event }));
    for (const { session, lastSeq } of await this.#news()) {
      const events = await store.read(session, this.#seen.get(session) ?? 0);
      this.#seen.set(session, Math.max(lastSeq, events.at(-1)?.seq ?? 0));
      for (const event of events) {
        if (event.type === 'session.started') this.#options.met(event);
        news.push({ session, event });
      }
    }
    if (news.length > 0) this.#unattended.happened();
    // What two machines logged in one millisecond stays in the order in which it was read.
    for (const { session, event } of news.sort((one, other) => timeOf(one.event) - timeOf(other.event))) {
      if (session === thread.session) thread.apply(event);
      observe({ kind: 'event', session, event });
    }
  }

  /** Descendants that have logged something since they were seen, callers before their children. */
  async #news(): Promise<SessionSummary[]> {
    const { store } = this.#options;
    const { root } = this.#session.info;
    const changed: SessionSummary[] = [];
    for (let cursor: string | undefined, isLast = false; !isLast; ) {
      const page = await store.list({ root }, { by: 'updated', limit: 200, cursor });
      const fresh = page.sessions.filter(({ session, lastSeq }) => lastSeq > (this.#seen.get(session) ?? 0));
      for (const summary of page.sessions) this.#below.set(summary.session, summary);
      changed.push(...fresh);
      cursor = page.next;
      // Behind a whole page of what was seen before there is nothing new.
      isLast = cursor === undefined || fresh.length === 0;
    }
    return changed
      .filter(({ session }) => this.#isBelow(session))
      .sort((one, other) => one.depth - other.depth || (one.createdAt < other.createdAt ? -1 : 1));
  }

  #isBelow(session: string): boolean {
    const above = this.#below.get(session)?.parent?.session;
    return above !== undefined && (above === this.#session.id || this.#isBelow(above));
  }

  /** The engine may be away for as long as it takes: what is logged is followed, and cancelled, all the same. */
  #tellEngine(request: Promise<void>): void {
    request.catch((error: unknown) => {
      this.#fault ??= error;
    });
  }

  /**
   * Ends a turn whose time is up while nobody runs it. Where children are open that nobody runs either, all are told
   * in their logs to end, whoever takes them up, and the turn is left with what is returned.
   */
  async #endInTime(): Promise<TurnStop | undefined> {
    const { thread } = this.#session;
    const limit = this.#timeUp();
    const now = performance.now();
    if (!limit || now - this.#timeLookedAt < TIME_AGAIN) return undefined;
    this.#timeLookedAt = now;
    const open = await this.#open();
    if (open.some(({ holder }) => holder !== undefined)) return undefined;
    const reason = `${limitReason(limit)}: no worker ran it at the end`;
    const end = { status: 'limit' as const, reason, limit };
    const below = open.filter(({ session }) => session !== thread.session);
    if (below.length === 0) await this.#cancelled.end(end);
    else await this.#cancelled.request(reason, below);
    return below.length === 0 ? undefined : end;
  }

  /** What is open of the turn's session and below it, as the store says now. */
  async #open(): Promise<SessionSummary[]> {
    const { id, info } = this.#session;
    const open = await listAll(this.#options.store, { root: info.root, open: true });
    return open.filter(({ session }) => session === id || this.#isBelow(session));
  }

  /** The limit of time that is passed, and by so much that whoever runs the turn would have ended it. */
  #timeUp(): LimitHit | undefined {
    const { turn } = this.#session.thread;
    const limit = turn?.terms?.limits.time;
    if (!turn || limit === undefined || Date.now() - momentHere(this.#options.store, turn.since) < limit + TIME_GRACE)
      return undefined;
    return { which: 'time', limit, setBy: turn.terms?.setBy?.time ?? 'default' };
  }

  /** @throws ReasonixError `cancelled` when the engine is away, so that nobody who runs the turn can be told. */
  async #assertHeard(): Promise<void> {
    const { thread } = this.#session;
    const since = this.#cancelledFirst;
    if (!thread.turn || this.#isHeard || since === undefined || performance.now() - since < UNHEARD) return;
    const isRun = (await this.#open()).some(({ holder }) => holder !== undefined);
    const left = `the engine does not answer, so the turn of ${thread.session} was left`;
    throw isRun
      ? new ReasonixError('cancelled', `${left}: the worker that runs it has not been told`, {
          hint: `when the engine is back: reasonix run --resume ${thread.session}, then Ctrl-C`,
        })
      : new ReasonixError('cancelled', `${left}: its log says that it is to end, which any worker does`);
  }

  /** Everything that is open is told at once, so that nothing goes on until its caller has told it. */
  async #cancel(): Promise<void> {
    const now = performance.now();
    if (this.#cancelledAt !== undefined && now - this.#cancelledAt < CANCEL_AGAIN) return;
    const isFirst = this.#cancelledAt === undefined;
    this.#cancelledFirst ??= now;
    this.#cancelledAt = now;
    const { engine, signal } = this.#options;
    const { thread } = this.#session;
    const reason =
      signal.reason instanceof Error && signal.reason.name !== 'AbortError' ? messageOf(signal.reason) : 'cancelled';
    const below = [...this.#below.values()].filter(
      ({ session, status }) => status === 'open' && this.#isBelow(session),
    );
    // Whoever could run it had a while to do so.
    if (!isFirst && below.length === 0) await this.#cancelled.end({ status: 'cancelled', reason });
    // Whoever is woken finds it in the log. The other way round it would be busy.
    await Promise.race([this.#cancelled.request(reason, below), delay(LOG_FIRST)]);
    const { root, tag } = handed(thread);
    const request = engine.cancel(handed(thread), { reason, upTo: thread.turn?.seq ?? 0 });
    const heard = () => {
      this.#isHeard = true;
    };
    request.then(heard, heard);
    this.#tellEngine(request);
    for (const { session, lastSeq } of below) {
      this.#tellEngine(engine.cancel({ session, root, tag }, { reason, upTo: lastSeq }));
    }
  }
}

const timeOf = ({ at }: StoredEvent): number => Date.parse(at);

/** Calls `tell` for every event; a follower that fails is left to the regular looks. */
async function told(events: AsyncIterable<StoredEvent>, tell: () => void): Promise<void> {
  try {
    for await (const _ of events) tell();
  } catch {
    tell();
  }
}

/** Until the next look: `wake`, which `offer` is given, was called, the signal aborts, or some time has passed. */
async function pause(signal: AbortSignal, offer: (wake: () => void) => void): Promise<void> {
  const over = new AbortController();
  const wake = () => over.abort();
  offer(wake);
  if (!signal.aborted) signal.addEventListener('abort', wake, { once: true });
  await delay(INTERVAL, undefined, { signal: over.signal }).catch(() => {});
  signal.removeEventListener('abort', wake);
}
