import { createHash, randomBytes } from 'node:crypto';

/** Crockford base 32 in lower case: digits and letters that sort like the number they spell. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

const TIME_DIGITS = 10;

let lastTime = 0;
let lastTail: number[] = [];

/** A 26-character id that sorts by time of creation, also inside one millisecond of one process. */
function timeSortableId(): string {
  const now = Date.now();
  if (now > lastTime) {
    lastTime = now;
    lastTail = Array.from(randomBytes(16), (byte) => byte & 31);
  } else {
    increment(lastTail);
  }
  return spelled(lastTime, TIME_DIGITS) + lastTail.map((digit) => ALPHABET[digit]).join('');
}

/** A number in so many digits, the last ones where there are more. */
function spelled(number: number, digits: number): string {
  let text = '';
  for (let rest = number; text.length < digits; rest = Math.floor(rest / 32)) text = ALPHABET[rest % 32] + text;
  return text;
}

function increment(digits: number[]): void {
  for (let index = digits.length - 1; index >= 0; index--) {
    const digit = digits[index] ?? 0;
    if (digit < 31) {
      digits[index] = digit + 1;
      return;
    }
    digits[index] = 0;
  }
}

/** The id of a root session: `s_` and 26 letters and digits. */
export const newSessionId = (): string => `s_${timeSortableId()}`;

/**
 * The reference of the child that a tool call starts, `sa_` and letters and digits, the same in every process. It sorts by `time`, in
 * milliseconds, then by `place`, a number below 1,048,576.
 */
export function referenceOf({ session, call }: { session: string; call: string }, time: number, place: number): string {
  const hash = createHash('sha256').update(`${session} ${call}`).digest();
  const tail = Array.from(hash.subarray(0, 12), (byte) => ALPHABET[byte & 31]).join('');
  return `sa_${spelled(time, TIME_DIGITS)}${spelled(place, 4)}${tail}`;
}

/** An id for a tool call whose provider sent none, or sent one that the session has used already. */
export const newCallId = (): string => `call_${timeSortableId()}`;

export const isReference = (text: string): boolean => /^sa_[0-9a-z]{4,64}$/i.test(text);
