import type { Message, ToolCall, ToolDefinition } from '../core/messages.ts';
import type { Usage } from '../core/usage.ts';
import type { ModelRequest } from './contract.ts';

/** Characters a token, on average, when nobody counted. */
export const CHARACTERS_PER_TOKEN = 4;

/**
 * Tokens of a picture. Providers count by its size: one of 1,000 × 1,000 is about 1,300 to Anthropic
 * (width × height / 750) and about 765 to OpenAI; larger ones are scaled down to some 1,600.
 */
const TOKENS_PER_IMAGE = 1_500;

const toolSizes = new WeakMap<readonly ToolDefinition[], number>();

/** Usage by the rule of thumb, for an answer whose provider reports none. */
export function estimateUsage(
  request: ModelRequest,
  answer: { text: string; reasoning?: string | undefined; toolCalls: readonly ToolCall[] },
): Usage {
  const reasoning = answer.reasoning?.length ?? 0;
  return {
    input: tokens(request.system.length + toolsSize(request.tools) + sum(request.messages, messageSize)),
    output: tokens(answer.text.length + reasoning + sum(answer.toolCalls, callSize)),
    cache_read: 0,
    cache_write: 0,
    reasoning: tokens(reasoning),
  };
}

const tokens = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);

const callSize = (call: ToolCall): number => call.name.length + call.arguments.length;

function sum<T>(items: readonly T[], size: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += size(item);
  return total;
}

/** Characters of what a message says, without reasoning and state. */
export function messageSize(message: Message): number {
  if (message.role === 'tool')
    return message.content.length + (message.images?.length ?? 0) * TOKENS_PER_IMAGE * CHARACTERS_PER_TOKEN;
  if (message.role === 'user') return message.content.length;
  return message.text.length + sum(message.toolCalls, callSize);
}

/** The tools of a session are frozen, so that one array is measured once. */
export function toolsSize(tools: readonly ToolDefinition[]): number {
  if (tools.length === 0) return 0;
  let size = toolSizes.get(tools);
  if (size === undefined) {
    size = JSON.stringify(tools).length;
    toolSizes.set(tools, size);
  }
  return size;
}
