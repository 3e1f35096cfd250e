import { ReasonixError } from '../core/errors.ts';
import type { Compactor } from '../middleware/compaction/compactor.ts';
import { roomOf } from '../models/windows.ts';
import type { Session } from '../session/session.ts';

export interface CompactOptions {
  signal?: AbortSignal | undefined;
}

/** What a compaction did. */
export interface Compacted {
  /** Messages that a summary stands for now. */
  replaced: number;
  /** Results that a line with a pointer stands for now. */
  reduced: number;
  /** Tokens of the context, estimated. */
  before: number;
  after: number;
}

/** Compacts a session that no turn runs in, and whose lease is held. */
export async function compactNow(
  session: Session,
  compactor: Compactor,
  signal: AbortSignal,
): Promise<Compacted | undefined> {
  const { thread, host, id } = session;
  if (thread.turn) {
    throw new ReasonixError('usage', `the last turn of session ${id} was cut`, {
      hint: `finish it first: reasonix run --resume ${id}`,
    });
  }
  const model = await session.model();
  const event = await compactor.compact({
    thread,
    model,
    window: roomOf(model),
    reason: 'asked',
    signal,
    setAside: () => () => {},
    charge: () => {},
    progress: (text) => host.observe({ kind: 'progress', session: id, text }),
    append: (events) => session.append(events),
  });
  if (!event) return undefined;
  const { replaced, reduced = [], before = 0, after = 0 } = event;
  return { replaced, reduced: reduced.length, before, after };
}
