import { ReasonixError } from '../core/errors.ts';
import type { SessionEvent, StoredEvent } from '../core/events.ts';
import { prompt } from '../core/prompts.ts';
import type { LeaseKeeper } from '../session/lease-keeper.ts';
import type { SessionStore } from '../store/contract.ts';

/** What it takes to hold a log. */
export interface Logs {
  readonly store: SessionStore;
  readonly leases: LeaseKeeper;
}

/** Appends to the end of the log, wherever that is by now. */
export type Append = (events: SessionEvent[]) => Promise<StoredEvent[]>;

/**
 * Works on the log of a session that does not run: with its lease, so that it cannot begin meanwhile.
 * @throws ReasonixError `session_busy` when somebody has it.
 */
export async function withLog<T>(
  { store, leases }: Logs,
  session: string,
  work: (append: Append, events: StoredEvent[]) => Promise<T>,
): Promise<T> {
  const lease = await leases.claim(session, () => {});
  try {
    const events = await store.read(session);
    let seq = events.at(-1)?.seq ?? 0;
    const append: Append = async (more) => {
      const stored = await store.append(session, seq, more, lease);
      seq = stored.at(-1)?.seq ?? seq;
      return stored;
    };
    return await work(append, events);
  } finally {
    await leases.release(lease);
  }
}

/** As `withLog`, for a child. @throws ReasonixError `reference_busy` when somebody has it, in words for a model. */
export async function withLogOfChild<T>(
  logs: Logs,
  reference: string,
  work: (append: Append, events: StoredEvent[]) => Promise<T>,
): Promise<T> {
  try {
    return await withLog(logs, reference, work);
  } catch (error) {
    if (!ReasonixError.isInstance(error, 'session_busy')) throw error;
    throw new ReasonixError('reference_busy', prompt('reference-busy', { reference }), { cause: error });
  }
}
