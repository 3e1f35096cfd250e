/** How long a session that somebody else holds is left alone, in milliseconds. */
export const BUSY_DELAY = 1_000;

/** So often a session that cannot be run is offered like a busy one: somebody else may take it who can. */
const OFFERS = 5;

/** The longest pause between two offers of a session that nobody can run, in milliseconds. */
const LONGEST_UNFIT = 5 * 60_000;

/** The pause before a session is offered again that `times` runs in a row could not go on with, in milliseconds. */
export function unfitDelay(times: number): number {
  return Math.min(LONGEST_UNFIT, BUSY_DELAY * 2 ** Math.min(20, Math.max(0, times - OFFERS)));
}

/** The longest pause between two attempts of a run that fails, in milliseconds. */
const LONGEST_PAUSE = 60_000;

/** The pause after the `faults`th failed run in a row, in milliseconds: 1 s, doubled each time, with jitter. */
export function retryDelay(faults: number): number {
  const pause = Math.min(LONGEST_PAUSE, 1_000 * 2 ** Math.min(faults - 1, 10));
  return Math.round(pause * (0.75 + Math.random() / 4));
}

/** What is told about a failed run. */
export function failedRun(session: string, faults: number, message: string): string {
  return `run ${faults} of session ${session} failed and is tried again: ${message}`;
}

/** How long a request to cancel is kept for runs that begin after it, in milliseconds. */
export const CANCEL_LIFETIME = 10 * 60_000;
