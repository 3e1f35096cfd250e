import { ReasonixError } from '../core/errors.ts';
import type { SessionEvent } from '../core/events.ts';
import { linkSignals } from '../core/linked-signal.ts';
import { prompt } from '../core/prompts.ts';
import type { BackgroundChildren, BackgroundHost } from '../session/background.ts';
import type { Session } from '../session/session.ts';
import { Thread } from '../session/thread.ts';
import type { RunSkillInput } from '../tools/skill-service.ts';
import type { Admission } from './admission.ts';
import type { EndedChild } from './child-log.ts';
import type { LiveSession, LiveSessions } from './live.ts';
import { failedEnd, type MadeChild, type SubagentRunner, usageEvent } from './runner.ts';
import { stopWithChild } from './stop-with-child.ts';

export interface BackgroundOptions {
  live: LiveSessions;
  runner: SubagentRunner;
  admission: Admission;
  atEnd: BackgroundHost['atEnd'];
  /** The texts of results as the parent's model gets them, all of them in the room of one result. */
  texts(results: readonly EndedChild['result'][]): string[];
}

/** The longest delay that a timer holds, in milliseconds. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** A child that runs beside the turn, until its result is in the log. */
interface Child {
  readonly reference: string;
  readonly call: string;
  readonly stop: AbortController;
  /** Absent for one of before a crash that does not run again yet. */
  made?: Promise<MadeChild>;
  running?: Promise<void>;
  ended?: EndedChild;
  /** The call of this step that delivers it. */
  claimedBy?: string;
}

/** The children that run beside one turn of one session. The session's log says which there are. */
export class Background implements BackgroundChildren {
  readonly #options: BackgroundOptions;
  readonly #parent: LiveSession;
  readonly #signal: AbortSignal;
  readonly #children = new Map<string, Child>();
  readonly #watchers = new Set<() => void>();
  #halted = false;

  /** They end at the latest when `signal`, which is the turn's, aborts. */
  constructor(options: BackgroundOptions, parent: LiveSession, signal: AbortSignal) {
    this.#options = options;
    this.#parent = parent;
    this.#signal = signal;
  }

  /** Takes in a child that was just made. It runs as soon as the log says that it has started. */
  add(made: MadeChild, call: string): void {
    const { reference } = made;
    if (this.#children.get(reference)?.call === call) return;
    this.#children.set(reference, { reference, call, made: Promise.resolve(made), stop: new AbortController() });
  }

  launch(): void {
    if (this.#halted) return;
    for (const [reference, { call }] of this.#undelivered) {
      const child = this.#childOf(reference, call);
      child.running ??= this.#run(child);
    }
    this.#notify();
  }

  deliveries(): SessionEvent[] {
    this.#forget();
    return this.#endedInOrder().flatMap(({ call, ended }) => deliveryOf(call, ended, this.#options));
  }

  settled(signal: AbortSignal): Promise<void> {
    return this.wait(() => this.running.length === 0, signal);
  }

  async stop(reason: string): Promise<void> {
    const ends = [...this.#undelivered].map(([reference, { call }]) => {
      const child = this.#childOf(reference, call);
      child.stop.abort(new ReasonixError('cancelled', reason));
      child.running ??= this.#run(child);
      return child.running;
    });
    await Promise.all(ends);
  }

  async halt(): Promise<void> {
    this.#halted = true;
    const { fatal } = this.#parent.session;
    const ended = prompt('parent-ended');
    // Children of a log that cannot be written any more are cut, not ended: whoever goes on finds them open.
    const reason = fatal
      ? new ReasonixError('stale_writer', 'the log of the parent cannot be written', { cause: fatal })
      : new ReasonixError('cancelled', ended);
    for (const { stop } of this.#children.values()) stop.abort(reason);
    this.#notify();
    await Promise.all([...this.#children.values()].map((child) => child.running ?? this.#drop(child, fatal)));
  }

  /** References of children that have not ended, in the order in which they were started. */
  get running(): string[] {
    return [...this.#undelivered.keys()].filter((reference) => !this.#children.get(reference)?.ended);
  }

  /** References of children whose results are not in the log yet. */
  get undelivered(): string[] {
    return [...this.#undelivered.keys()];
  }

  /** The child that a call has made already. */
  madeBy(call: string): Promise<MadeChild> | undefined {
    return [...this.#children.values()].find((child) => child.call === call)?.made;
  }

  /** The session of a child that runs. */
  async sessionOf(reference: string): Promise<Session | undefined> {
    const child = this.#find(reference);
    if (!child || child.ended) return undefined;
    const made = await child.made?.catch(() => undefined);
    return made && 'live' in made ? made.live.session : undefined;
  }

  /** Ends a child and waits for its end. False when none of this reference runs. */
  async cancel(reference: string, reason: string): Promise<boolean> {
    const child = this.#find(reference);
    if (!child || child.ended) return false;
    child.stop.abort(new ReasonixError('cancelled', reason));
    await child.running;
    return true;
  }

  /** Waits until the calls that come before `call` in its step have started their children. */
  started(call: string, signal: AbortSignal): Promise<void> {
    return this.#until(() => !this.#isStartedBefore(call), signal, undefined);
  }

  /** Of those named, the ones that have ended and that no other call of this step delivers; `call` does now. */
  claim(references: readonly string[], call: string): { call: string; ended: EndedChild }[] {
    const claimed = this.#endedInOrder().filter(
      ({ reference, claimedBy }) => claimedBy === undefined && references.includes(reference),
    );
    for (const { reference } of claimed) {
      const child = this.#children.get(reference);
      if (child) child.claimedBy = call;
    }
    return claimed;
  }

  /**
   * Waits, with the parent's slot lent, until `isEnough` or until a message to the session has come, or
   * for `timeout` milliseconds. @throws the signal's reason.
   */
  async wait(isEnough: () => boolean, signal: AbortSignal, timeout?: number): Promise<void> {
    const { session } = this.#parent;
    const isOver = () => isEnough() || session.thread.inbox.length > 0;
    if (isOver()) return;
    await this.#options.admission.lend(this.#parent, () => this.#until(isOver, signal, timeout));
  }

  #isStartedBefore(call: string): boolean {
    const { session } = this.#parent;
    for (const { id, name, arguments: text } of session.thread.openCalls.values()) {
      if (id === call) return false;
      const tool = session.tool(name);
      const parsed = tool?.name === 'run_skill' ? tool.parse(text) : undefined;
      if (parsed?.ok && (parsed.input as RunSkillInput).background) return true;
    }
    return false;
  }

  /** A child whose result is not in the log yet. */
  #find(reference: string): Child | undefined {
    const child = this.#children.get(reference);
    return child && this.#undelivered.get(reference)?.call === child.call ? child : undefined;
  }

  get #undelivered() {
    return this.#parent.session.thread.background;
  }

  #childOf(reference: string, call: string): Child {
    const known = this.#children.get(reference);
    if (known?.call === call) return known;
    const child: Child = { reference, call, stop: new AbortController() };
    this.#children.set(reference, child);
    return child;
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
      this.#notify();
    }
  }

  /** By the time of their ends, then in the order of their calls, so that every process gives one order. */
  #endedInOrder(): (Child & { ended: EndedChild })[] {
    const ended = [...this.#children.values()].flatMap((child) =>
      child.ended && this.#find(child.reference) ? [{ ...child, ended: child.ended }] : [],
    );
    if (ended.length < 2) return ended;
    const position = new Map([...this.#parent.session.thread.callIds].map((call, index) => [call, index]));
    return ended.sort(
      (a, b) => compare(a.ended.at, b.ended.at) || compare(position.get(a.call) ?? 0, position.get(b.call) ?? 0),
    );
  }

  /** Children that the log has as delivered are no subject any more; what a call did not deliver is free again. */
  #forget(): void {
    for (const [reference, child] of this.#children) {
      if (child.ended && !this.#find(reference)) this.#children.delete(reference);
      delete child.claimedBy;
    }
  }

  async #drop({ made }: Child, fatal: unknown): Promise<void> {
    const child = await made?.catch(() => undefined);
    if (child) await this.#options.runner.drop(child, fatal ? undefined : prompt('parent-ended')).catch(() => {});
  }

  #notify(): void {
    for (const check of this.#watchers) check();
  }

  #until(isOver: () => boolean, signal: AbortSignal, timeout: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (settle: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        stopReading();
        signal.removeEventListener('abort', abort);
        settle();
      };
      const abort = () => leave(() => reject(signal.reason));
      const check = () => {
        if (this.#halted) leave(() => reject(new ReasonixError('cancelled', prompt('parent-ended'))));
        else if (isOver()) leave(resolve);
      };
      const timer =
        timeout === undefined ? undefined : setTimeout(() => leave(resolve), Math.min(timeout, LONGEST_WAIT));
      const stopReading = this.#parent.session.onMessage(check);
      this.#watchers.add(check);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      else check();
    });
  }
}

/** The children beside the turns of every session of a runtime. */
export function backgroundHost(options: BackgroundOptions): BackgroundHost {
  const { live, runner } = options;
  return {
    atEnd: options.atEnd,
    of(session, signal) {
      const parent = live.get(session.id);
      if (!parent) return undefined;
      parent.background = new Background(options, parent, signal);
      return parent.background;
    },
    async close(session, reason) {
      const events: SessionEvent[] = [];
      for (const [reference, { call }] of session.thread.background) {
        const ended = await runner.close(session, reference, call, reason);
        events.push(...deliveryOf(call, ended, options));
      }
      return events;
    },
  };
}

/** What the log keeps of an end beside the text of the result. */
export const endEvents = (call: string, { result }: EndedChild): SessionEvent[] => [
  usageEvent(call, result),
  { type: 'subagent.ended', call, child: result.reference, status: result.turn.status },
];

/** Brings a result into the thread as a message. */
function deliveryOf(call: string, ended: EndedChild, { texts }: Pick<BackgroundOptions, 'texts'>): SessionEvent[] {
  const [content = ''] = texts([ended.result]);
  const { reference } = ended.result;
  return [...endEvents(call, ended), { type: 'user.message', origin: 'notice', content, child: reference }];
}

const compare = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
