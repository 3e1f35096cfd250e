/**
 * Thrown through a turn that waits for others and is carried on by a later run, in this process or another
 * one. It is no failure: nothing is logged for it, and the turn stays open as if it had been cut there.
 */
export class Parked extends Error {
  constructor() {
    super('the turn waits for others, and goes on when they are done');
    this.name = 'Parked';
  }
}

/** Waits for all of them, also when some throw. @throws the first failure, one that ends the turn before `Parked`. */
export async function allSettled(running: readonly Promise<unknown>[]): Promise<void> {
  const settled = await Promise.allSettled(running);
  const failures = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  if (failures.length > 0) throw failures.find((failure) => !(failure instanceof Parked)) ?? failures[0];
}
