import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';

/**
 * A history in which each call has one result, directly after the message that asked for it, in call
 * order: providers refuse every other. A call without a result gets one that says so; a result without
 * a call is dropped; an id that was used before is made unique. Everything else keeps its place.
 */
export function pairCalls(messages: readonly Message[]): Message[] {
  const paired: Message[] = [];
  const used = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role === 'user') {
      paired.push(message);
    } else if (message.role === 'assistant') {
      const calls = message.toolCalls.map((call) => uniqueCall(call, used));
      paired.push(isRenamed(message, calls) ? { ...message, toolCalls: calls } : message);
      if (calls.length > 0) paired.push(...resultsFor(message.toolCalls, calls, messages, index));
    }
  });
  return paired;
}

/** The results of one assistant message: those that come before the next one. */
function resultsFor(
  asked: readonly ToolCall[],
  calls: readonly ToolCall[],
  messages: readonly Message[],
  index: number,
): ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let next = index + 1; next < messages.length; next++) {
    const message = messages[next];
    if (message?.role === 'assistant') break;
    if (message?.role === 'tool') results.push(message);
  }
  return calls.map((call, position) => {
    const found = results.findIndex((result) => result.callId === asked[position]?.id);
    const [result] = found < 0 ? [] : results.splice(found, 1);
    if (!result) return interrupted(call);
    return result.callId === call.id ? result : { ...result, callId: call.id };
  });
}

function uniqueCall(call: ToolCall, used: Set<string>): ToolCall {
  let { id } = call;
  for (let copy = 2; id === '' || used.has(id); copy++) id = `${call.id || 'call'}_${copy}`;
  used.add(id);
  return id === call.id ? call : { ...call, id };
}

const isRenamed = (message: AssistantMessage, calls: readonly ToolCall[]): boolean =>
  calls.some((call, index) => call !== message.toolCalls[index]);

const interrupted = (call: ToolCall): ToolMessage => ({
  role: 'tool',
  callId: call.id,
  name: call.name,
  content: prompt('interrupted-call'),
  isError: true,
});
