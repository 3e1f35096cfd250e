import { prompt } from '../core/prompts.ts';
import type { Thread } from './thread.ts';

/** What tells a model that a text was cut, where it cannot read on. */
const FOR_GOOD = {
  clipped: 'clipped-for-good',
  'compacted-part': 'compacted-part-for-good',
  'compacted-result': 'compacted-result-for-good',
};

/** Whether the session can page through what was left out. */
export const canReadOn = ({ started }: Thread): boolean =>
  started?.tools.some(({ name }) => name === 'read_result') ?? false;

/** Stands where a text was cut. It says how to read on, unless the session lacks the tool for it. */
export const leftOut = (
  thread: Thread,
  marker: keyof typeof FOR_GOOD,
  slots: Record<string, string | number>,
): string => prompt(canReadOn(thread) ? marker : FOR_GOOD[marker], slots);
