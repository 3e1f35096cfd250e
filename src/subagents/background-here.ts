import { ReasonixError } from '../core/errors.ts';
import type { SessionEvent } from '../core/events.ts';
import { linkSignals } from '../core/linked-signal.ts';
import { prompt } from '../core/prompts.ts';
import type { Session } from '../session/session.ts';
import { type InboxMessage, Thread } from '../session/thread.ts';
import type { Admission } from './admission.ts';
import type { Background, Sent, WaitOptions } from './background.ts';
import { failedEnd } from './child-end.ts';
import type { ChildRequest } from './child-sessions.ts';
import type { LiveSession } from './live.ts';
import type { MadeChild, SubagentRunner } from './runner.ts';
import { stopWithChild } from './stop-with-child.ts';
import { type ChildBeside, type Delivered, type ResultTexts, Undelivered } from './undelivered.ts';
import { Waiting } from './waiting.ts';

export interface BackgroundHereOptions {
  runner: SubagentRunner;
  admission: Admission;
  texts: ResultTexts;
}

interface Child extends ChildBeside {
  readonly stop: AbortController;
  /** Absent for one of before a crash that does not run again yet. */
  made?: Promise<MadeChild>;
  running?: Promise<void>;
}

/** Children beside one turn that run in the process of the turn. */
export class BackgroundHere implements Background {
  readonly #options: BackgroundHereOptions;
  readonly #parent: LiveSession;
  readonly #signal: AbortSignal;
  readonly #children: Undelivered<Child>;
  readonly #waiting: Waiting;

  /** They end at the latest when `signal`, which is the turn's, aborts. */
  constructor(options: BackgroundHereOptions, parent: LiveSession, signal: AbortSignal) {
    this.#options = options;
    this.#parent = parent;
    this.#signal = signal;
    this.#children = new Undelivered(parent.session, (reference, call) => ({
      reference,
      call,
      stop: new AbortController(),
    }));
    this.#waiting = new Waiting(parent.session);
  }

  async start(request: ChildRequest): Promise<string> {
    const { call } = request;
    // A middleware may try a call again.
    const before = this.#children.known.find((child) => child.call === call)?.made;
    const made = await (before ?? this.#options.runner.prepare(request));
    const { reference } = made;
    this.#children.add({ reference, call, made: Promise.resolve(made), stop: new AbortController() });
    return reference;
  }

  launch(): void {
    if (this.#waiting.isHalted) return;
    for (const child of this.#children.all) child.running ??= this.#run(child);
    this.#waiting.notify();
  }

  deliveries(): SessionEvent[] {
    return this.#children.deliveries(this.#options.texts);
  }

  settled(signal: AbortSignal): Promise<void> {
    return this.wait(() => this.running.length === 0, { signal, recovering: false });
  }

  async stop(reason: string): Promise<void> {
    const ends = this.#children.all.map((child) => {
      child.stop.abort(new ReasonixError('cancelled', reason));
      child.running ??= this.#run(child);
      return child.running;
    });
    await Promise.all(ends);
  }

  async halt(): Promise<void> {
    const { fatal } = this.#parent.session;
    const ended = prompt('parent-ended');
    // Children of a log that cannot be written any more are cut, not ended: whoever goes on finds them open.
    const reason = fatal
      ? new ReasonixError('stale_writer', 'the log of the parent cannot be written', { cause: fatal })
      : new ReasonixError('cancelled', ended);
    for (const { stop } of this.#children.known) stop.abort(reason);
    this.#waiting.halt();
    await Promise.all(this.#children.known.map((child) => child.running ?? this.#drop(child, fatal)));
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

  /** With the parent's slot lent. */
  async wait(isEnough: () => boolean, { signal, timeout }: WaitOptions): Promise<void> {
    const { session } = this.#parent;
    const isOver = () => isEnough() || session.thread.inbox.length > 0;
    if (isOver()) return;
    await this.#options.admission.lend(this.#parent, () => this.#waiting.until(isOver, signal, timeout));
  }

  async cancel(reference: string, reason: string): Promise<boolean> {
    const child = this.#children.find(reference);
    if (!child || child.ended) return false;
    child.stop.abort(new ReasonixError('cancelled', reason));
    await child.running;
    return true;
  }

  async send(reference: string, { from, content }: InboxMessage): Promise<Sent> {
    const session = await this.#sessionOf(reference);
    try {
      const isIn = await session?.append(() =>
        session.thread.turn ? [{ type: 'message.received', from, content }] : [],
      );
      return isIn ? 'sent' : 'ended';
    } catch (error) {
      // The child may wait for what it will never read: its log takes nothing any more.
      stopWithChild(this.#parent, error);
      throw error;
    }
  }

  /** The session of a child that runs. */
  async #sessionOf(reference: string): Promise<Session | undefined> {
    const child = this.#children.find(reference);
    if (!child || child.ended) return undefined;
    const made = await child.made?.catch(() => undefined);
    return made && 'live' in made ? made.live.session : undefined;
  }

  async #run(child: Child): Promise<void> {
    const { signal, unlink } = linkSignals([this.#signal, child.stop.signal]);
    const { runner } = this.#options;
    try {
      child.made ??= runner.reopen(this.#parent, child.reference, child.call);
      child.ended = await runner.finish(await child.made, this.#parent, signal);
    } catch (error) {
      stopWithChild(this.#parent, error);
      child.ended = failedEnd(new Thread(child.reference), error);
    } finally {
      unlink();
      this.#waiting.notify();
    }
  }

  async #drop({ made }: Child, fatal: unknown): Promise<void> {
    const child = await made?.catch(() => undefined);
    if (child) await this.#options.runner.drop(child, fatal ? undefined : prompt('parent-ended')).catch(() => {});
  }
}
