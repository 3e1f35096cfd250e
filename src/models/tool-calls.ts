import { newCallId } from '../core/ids.ts';
import type { ToolCall } from '../core/messages.ts';
import { wellFormed } from '../core/text.ts';
import type { ModelReply } from './contract.ts';
import { isObjectText, repairArguments } from './repair-json.ts';

/** A call as a stream brought it: some servers number their calls, or give the arguments as the object that they are. */
export interface RawCall {
  id: unknown;
  name: unknown;
  arguments: unknown;
}

/** Reasons to end that are the model's own; by any other an answer may have been cut. */
const WHOLE_REASONS = new Set(['stop', 'tool_calls']);

/** A text, or a number as one; nothing else. */
export const plainText = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

/**
 * The calls of an answer as the runtime takes them: ids that are there and differ, only well-formed
 * Unicode, arguments mended where that cannot change them. In an answer that was cut, a call whose
 * arguments are not whole is marked, so that it is never run: not even when what is left could be parsed.
 */
export function finishedCalls(calls: readonly RawCall[], finishReason: string): ToolCall[] {
  const used = new Set<string>();
  const wasCut = !WHOLE_REASONS.has(finishReason);
  return calls.flatMap((call) => {
    const name = plainText(call.name);
    // A call of nothing cannot be answered, and no provider takes it back.
    if (name === '') return [];
    const given = plainText(call.id);
    const id = given === '' || used.has(given) ? newCallId() : given;
    used.add(id);
    const text = wellFormed(argumentsAsText(call.arguments));
    if (wasCut && !isObjectText(text)) return [{ id, name, arguments: text, isCut: true }];
    return [{ id, name, arguments: repairArguments(text) }];
  });
}

export function argumentsAsText(given: unknown): string {
  if (given === null || given === undefined) return '';
  return typeof given === 'string' ? given : JSON.stringify(given);
}

/**
 * The answer with its first call alone, for a provider that is to make one call a step. Servers do not
 * all obey; the model asks again for what was left out. Parts that go back as they came end with the call.
 */
export function withFirstCallOnly(reply: ModelReply): ModelReply {
  if (reply.toolCalls.length < 2) return reply;
  const state = reply.providerState as { blocks?: { type: string }[]; items?: { type: string }[] } | undefined;
  const providerState = state && {
    ...state,
    ...(state.blocks ? { blocks: upTo(state.blocks, 'tool_use') } : {}),
    ...(state.items ? { items: upTo(state.items, 'function_call') } : {}),
  };
  return {
    ...reply,
    toolCalls: reply.toolCalls.slice(0, 1),
    ...(providerState === undefined ? {} : { providerState }),
  };
}

function upTo<Part extends { type: string }>(parts: readonly Part[], type: string): Part[] {
  const index = parts.findIndex((part) => part.type === type);
  return index < 0 ? [...parts] : parts.slice(0, index + 1);
}
