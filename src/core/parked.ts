/**
 * Thrown through a turn that waits for others and is carried on by a later run, in this process or another
 * one. It is no failure: nothing is logged for it, and the turn stays open as if it had been cut there.
 */
export class Parked extends Error {
  /** When the turn is to go on at the latest, epoch milliseconds. */
  readonly until: number | undefined;

  constructor(until?: number) {
    super('the turn waits for others, and goes on when they are done');
    this.name = 'Parked';
    this.until = until;
  }
}

/** Waits for all of them, also when some throw. @throws the first failure, one that ends the turn before `Parked`. */
export async function allSettled(running: readonly Promise<unknown>[]): Promise<void> {
  const settled = await Promise.allSettled(running);
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  if (failures.length === 0) return;
  const parked = failures.filter((failure): failure is Parked => failure instanceof Parked);
  if (parked.length < failures.length) throw failures.find((failure) => !(failure instanceof Parked));
  throw new Parked(earliest(parked.map(({ until }) => until)));
}

/** The first of several times; those that are absent say nothing. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
