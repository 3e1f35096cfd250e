import { randomBytes } from 'node:crypto';

/** Crockford base 32 in lower case: digits and letters that sort like the number they spell. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

let lastTime = 0;
let lastTail: number[] = [];

/** A 26-character id that sorts by time of creation, also inside one millisecond of one process. */
function timeSortableId(now = Date.now()): string {
  if (now > lastTime) {
    lastTime = now;
    lastTail = Array.from(randomBytes(16), (byte) => byte & 31);
  } else {
    increment(lastTail);
  }
  let time = lastTime;
  let head = '';
  for (let index = 0; index < 10; index++) {
    head = ALPHABET[time % 32] + head;
    time = Math.floor(time / 32);
  }
  return head + lastTail.map((digit) => ALPHABET[digit]).join('');
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

/** The reference of a child session: `sa_` and 26 letters and digits. */
export const newReference = (): string => `sa_${timeSortableId()}`;

/** An id for a tool call whose provider sent none, or sent one that the session has used already. */
export const newCallId = (): string => `call_${timeSortableId()}`;

export const isReference = (text: string): boolean => /^sa_[0-9a-z]{4,64}$/i.test(text);
