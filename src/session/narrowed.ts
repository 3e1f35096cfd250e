import type { EventOf } from '../core/events.ts';
import type { Thread } from './thread.ts';

/** What is left to a session by the skills above it and its own: grants that must all allow a call, refusals. */
export type Narrowed = NonNullable<EventOf<'session.started'>['permissions']>;

/** What was frozen with a session, and what its caller lends it for the present turn: a call needs both. */
export const narrowedBy = ({ started, turn }: Thread): Narrowed[] =>
  [started?.permissions, turn?.permissions].filter((each) => each !== undefined);

/** All of them as one, for a child or a turn that takes them over. */
export function joined(all: readonly Narrowed[]): Narrowed | undefined {
  if (all.length < 2) return all[0];
  return {
    grants: all.flatMap(({ grants }) => grants),
    deny: [...new Set(all.flatMap(({ deny }) => deny))],
    readOnly: all.some(({ readOnly }) => readOnly),
  };
}
