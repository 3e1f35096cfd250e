import { setTimeout as delay } from 'node:timers/promises';
import { ReasonixError } from '../core/errors.ts';
import type { EventOf, SessionEvent } from '../core/events.ts';
import { Parked } from '../core/parked.ts';
import { prompt } from '../core/prompts.ts';
import type { SessionHost } from '../session/host.ts';
import type { InboxMessage } from '../session/thread.ts';
import { momentHere } from '../store/contract.ts';
import { listAll } from '../store/list-all.ts';
import type { Background, CallOptions, Sent, WaitOptions } from './background.ts';
import { failedEnd } from './child-end.ts';
import { ChildLog } from './child-log.ts';
import type { ChildRequest } from './child-sessions.ts';
import { type Elsewhere, handed, logCancelling } from './elsewhere.ts';
import type { LiveSession } from './live.ts';
import type { SubagentRunner } from './runner.ts';
import { type ChildBeside, type Delivered, type ResultTexts, Undelivered } from './undelivered.ts';
import { Waiting } from './waiting.ts';

export interface BackgroundElsewhereOptions {
  host: Pick<SessionHost, 'store' | 'leases'>;
  runner: SubagentRunner;
  elsewhere: Elsewhere;
  texts: ResultTexts;
}

/** Two looks at the logs of children are at least so many milliseconds apart, unless somebody waits. */
const LOOK_EVERY = 500;

/** Milliseconds between two looks while somebody waits. */
const INTERVAL = 50;

/** How long somebody waits without leaving the turn to a later run, in milliseconds. */
const IN_PLACE = 2_000;

/** Milliseconds until something is told again: an engine may have forgotten it. */
const AGAIN = 1_000;

/** How long the receiver of a message has to take it, in milliseconds. */
const SEND_WITHIN = 10_000;

interface Child extends ChildBeside {
  readonly log: ChildLog;
}

/**
 * Children beside one turn that any process runs. What there is of them stands in their logs, and nothing of
 * them is here: the turn may end its run while they go on, and their ends bring it back.
 */
export class BackgroundElsewhere implements Background {
  readonly #options: BackgroundElsewhereOptions;
  readonly #parent: LiveSession;
  readonly #signal: AbortSignal;
  readonly #children: Undelivered<Child>;
  readonly #waiting: Waiting;
  /** By call. */
  readonly #started = new Map<string, string>();
  #looking: Promise<void> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: BackgroundElsewhereOptions, parent: LiveSession, signal: AbortSignal) {
    this.#options = options;
    this.#parent = parent;
    this.#signal = signal;
    this.#waiting = new Waiting(parent.session);
    this.#children = new Undelivered(parent.session, (reference, call) => {
      return { reference, call, log: new ChildLog(reference, { session: parent.session.id, call }) };
    });
  }

  async start(request: ChildRequest): Promise<string> {
    const { runner, elsewhere } = this.#options;
    const { call } = request;
    // A middleware may try a call again.
    const reference = this.#started.get(call) ?? (await runner.leave(elsewhere, request));
    this.#started.set(call, reference);
    return reference;
  }

  launch(): void {
    this.#waiting.notify();
  }

  async look(): Promise<void> {
    if (performance.now() - this.#lookedAt >= LOOK_EVERY) await this.#look();
  }

  deliveries(): SessionEvent[] {
    return this.#children.deliveries(this.#options.texts);
  }

  settled(signal: AbortSignal): Promise<void> {
    return this.wait(() => this.running.length === 0, { signal, recovering: false });
  }

  async stop(reason: string): Promise<void> {
    await this.#look();
    if (this.running.length === 0) return;
    await logCancelling(this.#parent.session, this.#signal);
    await this.#end(() => this.#children.all.filter(({ ended }) => !ended), reason);
  }

  async halt(): Promise<void> {
    this.#waiting.halt();
  }

  get running(): string[] {
    return this.#children.running;
  }

  get undelivered(): string[] {
    return this.#children.references;
  }

  started(call: string, signal: AbortSignal): Promise<void> {
    return this.#waiting.started(call, signal);
  }

  claim(references: readonly string[], call: string): Delivered[] {
    return this.#children.claim(references, call);
  }

  async wait(isEnough: () => boolean, { signal, timeout, recovering }: WaitOptions): Promise<void> {
    const { thread } = this.#parent.session;
    const isOver = () => isEnough() || thread.inbox.length > 0;
    const until =
      timeout === undefined
        ? undefined
        : (recovering ? momentHere(this.#options.host.store, thread.askedAt) : Date.now()) + timeout;
    for (;;) {
      await this.#look();
      if (isOver()) return;
      signal.throwIfAborted();
      const left = until === undefined ? Number.POSITIVE_INFINITY : until - Date.now();
      if (left <= 0) return;
      // A place is for those who have something to do.
      if (left > IN_PLACE) throw new Parked(until);
      await this.#waiting.until(isOver, signal, Math.min(left, INTERVAL));
    }
  }

  async cancel(reference: string, reason: string, { recovering }: CallOptions): Promise<boolean> {
    const child = this.#children.find(reference);
    if (!child) return false;
    await this.#look();
    // Before the turn was left to this run, the child was told to.
    if (child.ended) return recovering && child.ended.result.turn.status === 'cancelled';
    await this.#end(() => (child.ended ? [] : [child]), reason);
    return true;
  }

  async send(reference: string, message: InboxMessage, { signal }: CallOptions): Promise<Sent> {
    const child = this.#children.find(reference);
    if (!child) return 'ended';
    const { log } = child;
    const end = performance.now() + SEND_WITHIN;
    for (let sentAt = Number.NEGATIVE_INFINITY; ; ) {
      await this.#read(child);
      if (log.thread.received.has(`${message.from.session} ${message.from.call}`)) return 'sent';
      if (!log.cut) return 'ended';
      const now = performance.now();
      if (now >= end) return 'late';
      if (now - sentAt >= AGAIN) {
        sentAt = now;
        if (await this.#deliver(child, log.cut.seq, message)) continue;
      }
      await this.#waiting.until(() => false, signal, INTERVAL);
    }
  }

  /** Puts a message into the log of a child that nobody runs at the moment; else its run is asked to. */
  async #deliver({ log, reference }: Child, upTo: number, { from, content }: InboxMessage): Promise<boolean> {
    const { elsewhere, host } = this.#options;
    const { thread } = log;
    const event: EventOf<'message.received'> = { type: 'message.received', from, content };
    try {
      const lease = await host.leases.claim(reference, () => {});
      try {
        await host.store.append(reference, thread.lastSeq, [event], lease);
      } finally {
        await host.leases.release(lease);
      }
    } catch (error) {
      if (!ReasonixError.isInstance(error, 'session_busy')) throw error;
      await elsewhere.cancel(handed(thread), { reason: 'message', upTo, message: { ...from, content } });
      return false;
    }
    await elsewhere.start(handed(thread));
    return true;
  }

  /** Tells children to end until they have. @throws `Parked` when that takes its time. */
  async #end(left: () => Child[], reason: string): Promise<void> {
    const end = performance.now() + IN_PLACE;
    for (let toldAt = Number.NEGATIVE_INFINITY; ; ) {
      const now = performance.now();
      if (now - toldAt >= AGAIN) {
        toldAt = now;
        await Promise.all(left().map((child) => this.#tell(child, reason)));
      }
      await this.#look();
      if (left().length === 0) return;
      if (this.#parent.session.fatal) throw this.#parent.session.fatal;
      if (performance.now() >= end) throw new Parked();
      await delay(INTERVAL);
    }
  }

  async #tell(child: Child, reason: string): Promise<void> {
    const { log } = child;
    await this.#read(child);
    if (log.cut) await this.#options.elsewhere.cancel(handed(log.thread), { reason, upTo: log.cut.seq });
  }

  /** Finds out which have ended. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#lookedAt = performance.now();
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<void> {
    const left = this.#children.all.filter(({ ended }) => !ended);
    if (left.length === 0) return;
    const open = await this.#open();
    await Promise.all(left.filter(({ reference }) => !open.has(reference)).map((child) => this.#lookAt(child)));
    this.#waiting.notify();
  }

  async #lookAt(child: Child): Promise<void> {
    const { log, reference, call } = child;
    await this.#read(child);
    if (log.ended) child.ended = await this.#options.runner.settle(log.ended, this.#parent, call);
    else if (!log.cut) {
      const unknown = new ReasonixError('reference_unknown', prompt('reference-unknown', { reference }));
      child.ended = failedEnd(log.thread, unknown);
    }
  }

  async #read({ log, reference }: Child): Promise<void> {
    // Two who read at once take in the same events once.
    const events = await this.#options.host.store.read(reference, log.thread.lastSeq);
    log.take(events.filter(({ seq }) => seq > log.thread.lastSeq));
  }

  /** Children of this session whose turns have no end. */
  async #open(): Promise<Set<string>> {
    const filter = { open: true as const, parent: { session: this.#parent.session.id } };
    const open = await listAll(this.#options.host.store, filter);
    return new Set(open.map(({ session }) => session));
  }
}
