/** How long a session that somebody else holds is left alone, in milliseconds. */
export const BUSY_DELAY = 1_000;

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
