import { prompt } from '../core/prompts.ts';
import { byteLength, clipStart } from '../core/text.ts';

/** The largest size that each may have so that all of them fit into `room`; small ones leave theirs to others. */
export function fairShare(sizes: readonly number[], room: number): number {
  let left = Math.max(0, room);
  const ascending = [...sizes].sort((a, b) => a - b);
  for (const [index, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * A child's answer in at most `bytes` bytes of UTF-8: of a longer one the start, and how to read on,
 * unless whoever gets it cannot.
 */
export function clippedAnswer(answer: string, bytes: number, reference: string, canReadOn = true): string {
  const all = byteLength(answer);
  if (all <= bytes) return answer;
  const name = canReadOn ? 'answer-clipped' : 'answer-clipped-for-good';
  const marker = (offset: number) => prompt(name, { bytes: all, reference, offset });
  const room = Math.max(0, bytes - byteLength(marker(answer.length)) - 1);
  const units = new TextDecoder().decode(Buffer.from(answer).subarray(0, room), { stream: true }).length;
  const start = clipStart(answer, units);
  return start === '' ? marker(0) : `${start}\n${marker(start.length)}`;
}
