import type {
  Base64ImageSource,
  ContentBlockParam,
  ImageBlockParam,
  MessageCreateParams,
  MessageParam,
  TextBlockParam,
  Tool,
} from '@anthropic-ai/sdk/resources/messages/messages';
import type { AssistantMessage, ToolDefinition, ToolImage, ToolMessage } from '../core/messages.ts';
import { wellFormed } from '../core/text.ts';
import { thinkingOf } from './anthropic-thinking.ts';
import type { ModelRequest } from './contract.ts';
import { argumentsObject, sendableHistory } from './history.ts';
import { defaultMaxTokens, outputLimit } from './output-limit.ts';
import { seesImages, withImageNote } from './vision.ts';
import type { RequestSettings } from './wire.ts';

/**
 * What a messages answer leaves in the log to be sent back: its blocks in order, where order or
 * signatures matter. Text and calls stand in the message itself; a block without its content takes
 * them from there, so that a changed id or a masked text is sent as the log has it.
 */
export interface MessagesState {
  wire: 'messages';
  blocks: (Record<string, unknown> & { type: string })[];
}

/** Tokens of an answer default to 32,000 for Claude 4 and newer, to 8,192 before and for others. */
export type MessagesBodyOptions = RequestSettings;

export type MessagesBody = MessageCreateParams;

const BREAKPOINT = { cache_control: { type: 'ephemeral' } } as const;

/**
 * The body of a request, in the order of the prompt. Three cache breakpoints are set: at the end of
 * tools and system prompt, at the end of the history, and where the request before this one ended.
 *
 * The last two move with every step, so that the marks, and they alone, differ between the common
 * parts of two requests. A mark says where a lookup starts and is no part of what is hashed; the mark
 * at the end of the request before makes the lookup hit even after a step with more blocks than the
 * twenty that a lookup goes back. Content is always a list of blocks, marked or not, for the same reason.
 */
export function toAnthropicBody(request: ModelRequest, options: MessagesBodyOptions = {}): MessagesBody {
  const { tools, model } = request;
  const hasTools = tools.length > 0;
  const limit = outputLimit(request, options, defaultMaxTokens(model)) ?? defaultMaxTokens(model);
  const messages = toAnthropicMessages(request, options);
  const thinking = thinkingOf({
    model,
    effort: request.effort ?? options.effort,
    budget: request.thinking ?? options.thinking,
    maxTokens: limit,
    messages,
  });
  markTail(messages);
  const system: TextBlockParam[] =
    request.system.trim() === '' ? [] : [{ type: 'text', text: wellFormed(request.system), ...BREAKPOINT }];
  const definitions = tools.map(toAnthropicTool);
  const lastTool = definitions.at(-1);
  if (system.length === 0 && lastTool) definitions.splice(-1, 1, { ...lastTool, ...BREAKPOINT });
  return {
    model,
    ...(definitions.length > 0 ? { tools: definitions } : {}),
    ...(system.length > 0 ? { system } : {}),
    messages,
    stream: options.stream ?? true,
    max_tokens: limit,
    ...(hasTools ? toolChoice(request, options) : {}),
    ...thinking,
  };
}

function toolChoice(request: ModelRequest, { parallelTools }: RequestSettings): Pick<MessagesBody, 'tool_choice'> {
  if (request.toolChoice === 'none') return { tool_choice: { type: 'none' } };
  return parallelTools === false ? { tool_choice: { type: 'auto', disable_parallel_tool_use: true } } : {};
}

/**
 * The history as messages of alternating roles, without breakpoints. All results of a step stand in
 * the user message after it, before any text of that message.
 */
export function toAnthropicMessages(request: ModelRequest, options: RequestSettings = {}): MessageParam[] {
  const sendsImages = options.images ?? seesImages(request.model);
  const messages: { role: 'user' | 'assistant'; content: ContentBlockParam[] }[] = [];
  const add = (role: 'user' | 'assistant', blocks: ContentBlockParam[]): void => {
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else messages.push({ role, content: blocks });
  };
  for (const message of sendableHistory(request.messages)) {
    if (message.role === 'user') add('user', [{ type: 'text', text: message.content }]);
    else if (message.role === 'tool') add('user', [toResult(message, sendsImages)]);
    else add('assistant', toAssistant(message));
  }
  return messages;
}

function toResult(message: ToolMessage, sendsImages: boolean): ContentBlockParam {
  const { isError, images } = message;
  const text = images && !sendsImages ? withImageNote(message.content, images) : message.content;
  const isBlank = text.trim() === '';
  const content =
    images && sendsImages ? [...(isBlank ? [] : [{ type: 'text' as const, text }]), ...images.map(toImage)] : text;
  return {
    type: 'tool_result',
    tool_use_id: wireId(message.callId),
    ...(content === text && isBlank ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
  };
}

const toImage = ({ mediaType, data }: ToolImage): ImageBlockParam => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType as Base64ImageSource['media_type'], data },
});

function toAssistant(message: AssistantMessage): ContentBlockParam[] {
  const calls = message.toolCalls.map(
    (call): ContentBlockParam => ({
      type: 'tool_use',
      id: wireId(call.id),
      name: call.name,
      input: argumentsObject(call.arguments),
    }),
  );
  const text: ContentBlockParam[] = message.text.trim() === '' ? [] : [{ type: 'text', text: message.text }];
  const state = message.providerState as Partial<MessagesState> | undefined | null;
  if (state?.wire !== 'messages' || !state.blocks) return [...text, ...calls];

  const blocks: ContentBlockParam[] = [];
  for (const block of state.blocks) {
    if (block.type === 'tool_use') blocks.push(...calls.splice(0, 1));
    else if (block.type === 'text' && block.text === undefined) blocks.push(...text);
    else blocks.push(block as unknown as ContentBlockParam);
  }
  blocks.push(...calls);
  // A message may not end with thinking: its answer was cut off there, or the calls that it led to are left out.
  while (/thinking$/.test(blocks.at(-1)?.type ?? '')) blocks.pop();
  return blocks.length > 0 ? blocks : text;
}

/** Ids of other wires have characters that this one refuses. */
const wireId = (id: string): string => id.replace(/[^a-zA-Z0-9_-]/g, '_');

/** Marks the end of the last user message and of the one before it. */
function markTail(messages: MessageParam[]): void {
  const ends = messages.filter((message) => message.role === 'user').slice(-2);
  for (const { content } of ends) {
    if (typeof content === 'string') continue;
    const last = content.at(-1);
    if (last) content.splice(-1, 1, { ...last, ...BREAKPOINT } as ContentBlockParam);
  }
}

const toAnthropicTool = ({ name, description, parameters }: ToolDefinition): Tool => ({
  name,
  description: wellFormed(description),
  input_schema: { type: 'object', ...parameters } as Tool['input_schema'],
});
