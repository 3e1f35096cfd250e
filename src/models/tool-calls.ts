import { newCallId } from '../core/ids.ts';
import type { ToolCall } from '../core/messages.ts';
import { wellFormed } from '../core/text.ts';
import type { ModelReply } from './contract.ts';
import { isObjectText, repairArguments } from './repair-json.ts';

/** A call as a stream brought it. */
export interface RawCall {
  id: string;
  name: string;
  arguments: string;
}

/** Reasons for which a server ends an answer before the model did. */
const CUT_REASONS = new Set(['length', 'content_filter']);

/**
 * The calls of an answer as the runtime takes them: ids that are there and differ, only well-formed
 * Unicode, arguments mended where that cannot change them. In an answer that was cut, a call whose
 * arguments are not whole is marked, so that it is never run: not even when what is left could be parsed.
 */
export function finishedCalls(calls: readonly RawCall[], finishReason: string): ToolCall[] {
  const used = new Set<string>();
  const wasCut = CUT_REASONS.has(finishReason);
  return calls.map((call) => {
    const id = call.id === '' || used.has(call.id) ? newCallId() : call.id;
    used.add(id);
    const text = wellFormed(call.arguments);
    if (wasCut && !isObjectText(text)) return { id, name: call.name, arguments: text, isCut: true };
    return { id, name: call.name, arguments: repairArguments(text) };
  });
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
