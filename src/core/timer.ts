/** The longest delay that a timer holds, in milliseconds: Node fires a longer one at once. */
export const LONGEST_DELAY = 2 ** 31 - 1;

/** Milliseconds for a timer: a limit of more than 24 days is one of 24 days. */
export const timerDelay = (milliseconds: number): number => Math.min(milliseconds, LONGEST_DELAY);
