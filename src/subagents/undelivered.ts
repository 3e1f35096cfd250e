import type { SessionEvent } from '../core/events.ts';
import type { Session } from '../session/session.ts';
import { endEvents } from './child-end.ts';
import type { EndedChild } from './child-log.ts';
import type { ChildResult } from './result-text.ts';

/** The texts of results as the parent's model gets them, all of them in the room of one result. */
export type ResultTexts = (results: readonly ChildResult[]) => string[];

/** A child that runs beside the turn, until its result is in the log. */
export interface ChildBeside {
  readonly reference: string;
  readonly call: string;
  ended?: EndedChild;
  /** The call of this step that delivers it. */
  claimedBy?: string;
}

/** A child that has ended, and the call that it worked for. */
export interface Delivered {
  call: string;
  ended: EndedChild;
}

/**
 * The children of a turn whose results are not in the log yet. The session's log says which there are; what
 * is known of each on top of that is kept here.
 */
export class Undelivered<Child extends ChildBeside> {
  readonly #session: Session;
  readonly #make: (reference: string, call: string) => Child;
  readonly #known = new Map<string, Child>();

  constructor(session: Session, make: (reference: string, call: string) => Child) {
    this.#session = session;
    this.#make = make;
  }

  /** Takes in a child that the log does not name yet. */
  add(child: Child): void {
    if (this.#known.get(child.reference)?.call !== child.call) this.#known.set(child.reference, child);
  }

  /** Those that the log names, in the order in which they were started. */
  get all(): Child[] {
    return [...this.#logged].map(([reference, { call }]) => this.#of(reference, call));
  }

  /** Those, and what was taken in before the log names it. */
  get known(): Child[] {
    return [...this.#known.values()];
  }

  get references(): string[] {
    return [...this.#logged.keys()];
  }

  /** References of those that have not ended. */
  get running(): string[] {
    return this.references.filter((reference) => !this.#known.get(reference)?.ended);
  }

  /** One that the log names. */
  find(reference: string): Child | undefined {
    const logged = this.#logged.get(reference);
    return logged && this.#of(reference, logged.call);
  }

  /** Of those named, the ones that have ended and that no other call of this step delivers; `call` does now. */
  claim(references: readonly string[], call: string): Delivered[] {
    const claimed = this.#endedInOrder().filter(
      ({ reference, claimedBy }) => claimedBy === undefined && references.includes(reference),
    );
    for (const child of claimed) child.claimedBy = call;
    return claimed;
  }

  /** The events that deliver each that has ended as a message. */
  deliveries(texts: ResultTexts): SessionEvent[] {
    this.#forget();
    return this.#endedInOrder().flatMap(({ call, ended }) => deliveryOf(call, ended, texts));
  }

  #of(reference: string, call: string): Child {
    const known = this.#known.get(reference);
    if (known?.call === call) return known;
    const child = this.#make(reference, call);
    this.#known.set(reference, child);
    return child;
  }

  #isLogged({ reference, call }: Child): boolean {
    return this.#logged.get(reference)?.call === call;
  }

  get #logged() {
    return this.#session.thread.background;
  }

  /** By the time of their ends, then in the order of their calls, so that every process gives one order. */
  #endedInOrder(): (Child & { ended: EndedChild })[] {
    const ended = this.known.filter(
      (child): child is Child & { ended: EndedChild } => child.ended !== undefined && this.#isLogged(child),
    );
    if (ended.length < 2) return ended;
    const position = this.#session.thread.callIds;
    return ended.sort(
      (a, b) => compare(a.ended.at, b.ended.at) || compare(position.get(a.call) ?? 0, position.get(b.call) ?? 0),
    );
  }

  /** Children that the log has as delivered are no subject any more; what a call did not deliver is free again. */
  #forget(): void {
    for (const [reference, child] of this.#known) {
      if (child.ended && !this.#isLogged(child)) this.#known.delete(reference);
      delete child.claimedBy;
    }
  }
}

/** Brings a result into the thread as a message. */
export function deliveryOf(call: string, ended: EndedChild, texts: ResultTexts): SessionEvent[] {
  const [content = ''] = texts([ended.result]);
  const { reference } = ended.result;
  return [...endEvents(call, ended), { type: 'user.message', origin: 'notice', content, child: reference }];
}

const compare = <T extends string | number>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
