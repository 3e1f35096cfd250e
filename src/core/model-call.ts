import type { EventOf } from './events.ts';
import { totalTokens } from './usage.ts';

/** Whether a model gave the answer: neither the host's own calls nor a fork's copies, whose tokens stay with the source. */
export const isModelCall = ({ finishReason, usage }: EventOf<'assistant.message'>, isFork: boolean): boolean =>
  finishReason !== 'host' && !(isFork && totalTokens(usage) === 0);
