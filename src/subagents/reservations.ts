import type { Spent } from '../core/budget.ts';
import type { OpenTurn, Thread } from '../session/thread.ts';
import type { SessionStore } from '../store/contract.ts';
import { spentIn } from './child-budget.ts';
import { readChild } from './child-log.ts';
import type { LiveSession } from './live.ts';

/** What an earlier process let in for a call, and its session's log does not count yet. */
export interface Reserved {
  /** What the child has used, and its own place; those below included. */
  spent: Partial<Spent>;
  /** Of the child's own calls. */
  below: Reservations;
}

/** By call. */
export type Reservations = Map<string, Reserved>;

const REFERENCE = /sa_[0-9a-z]{4,64}/gi;

/**
 * The children that the turn of `thread` has started and not heard of. They have their places, and what they
 * have used is spent, before any other call of it is let in: what was refused before a crash is so after it.
 */
async function reservationsOf(store: SessionStore, thread: Thread): Promise<Reservations> {
  const found: Reservations = new Map();
  for (const { reference, call, isCertain } of await startedBy(store, thread)) {
    const child = readChild(reference, await store.read(reference), { session: thread.session, call });
    const turn = child.ended ? child.ended.turn : child.cut;
    if (!turn && !isCertain) continue;
    const below: Reservations = child.cut ? await reservationsOf(store, child.thread) : new Map();
    found.set(call, { spent: sumOf([placeOf(turn), spentOf(below)]), below });
  }
  return found;
}

/** Before a turn that was cut lets children in, those that it had let in have their places. */
export function reserve(store: SessionStore, parent: LiveSession): Promise<Reservations> {
  parent.reserved ??= reservationsOf(store, parent.session.thread).then((found) => {
    // A middleware may try a call again, whose child has its place.
    for (const call of parent.letIn ?? []) found.delete(call);
    parent.budget.charge(spentOf(found));
    return found;
  });
  return parent.reserved;
}

/** A child's place among the spawns of its parent. */
export interface Place {
  below: Reservations;
  /** This process has let it in before. */
  isAgain: boolean;
}

/** What was kept for the child of a call is free: what comes of it is to be charged at once. */
export function takePlace(parent: LiveSession, call: string, reserved: Reservations | undefined): Place {
  parent.letIn ??= new Set();
  const isAgain = parent.letIn.has(call);
  parent.letIn.add(call);
  const kept = reserved?.get(call);
  reserved?.delete(call);
  if (kept) parent.budget.refund(kept.spent);
  return { below: kept?.below ?? new Map(), isAgain };
}

export const reservedBelow = ({ below }: Place): LiveSession['reserved'] =>
  below.size > 0 ? Promise.resolve(below) : undefined;

/** What a child counts for: its turn's use, and that it was started. Steps are its own. */
function placeOf(turn: OpenTurn | undefined): Partial<Spent> {
  const { tokens, cost, spawns } = turn ? spentIn(turn) : NOTHING;
  return { tokens, cost, spawns: spawns + 1 };
}

/** What is kept for all of them. */
export const spentOf = (reservations: Reservations): Partial<Spent> =>
  sumOf([...reservations.values()].map(({ spent }) => spent));

const NOTHING = { tokens: 0, cost: 0, spawns: 0 };

const sumOf = (all: readonly Partial<Spent>[]): Partial<Spent> =>
  all.reduce<typeof NOTHING>(
    (sum, { tokens = 0, cost = 0, spawns = 0 }) => ({
      tokens: sum.tokens + tokens,
      cost: sum.cost + cost,
      spawns: sum.spawns + spawns,
    }),
    NOTHING,
  );

/** `isCertain` are those whose log names the call; others may be named by it for another reason. */
export async function startedBy(store: SessionStore, { session, openCalls, background }: Thread) {
  const found = [...background].map(([reference, { call }]) => ({ reference, call, isCertain: true }));
  if (openCalls.size === 0) return found;
  for (const { id, arguments: text } of openCalls.values()) {
    for (const [reference] of text.matchAll(REFERENCE)) found.push({ reference, call: id, isCertain: false });
  }
  for (let cursor: string | undefined; ; ) {
    const { sessions, next } = await store.list({ parent: { session } }, { limit: 1000, cursor });
    for (const { session: reference, parent } of sessions) {
      const [asked = ''] = parent?.call.split('#') ?? [];
      if (parent && openCalls.has(asked)) found.push({ reference, call: parent.call, isCertain: true });
    }
    if (next === undefined) return found;
    cursor = next;
  }
}
