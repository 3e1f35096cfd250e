import type {
  ChatCompletionCreateParams,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';
import type { AssistantMessage, ToolDefinition, ToolImage } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';
import { wellFormed } from '../core/text.ts';
import { idOfForm } from './call-ids.ts';
import type { ModelRequest } from './contract.ts';
import { type Dialect, effortFields } from './dialects.ts';
import { argumentsText, sendableHistory } from './history.ts';
import { outputLimit } from './output-limit.ts';
import { dataUrl, seesImages, withImageNote } from './vision.ts';
import type { RequestSettings } from './wire.ts';

/**
 * What a chat-completions answer leaves in the log to be sent back. The text of the reasoning stands
 * in the message; this names the field that it came in.
 */
export interface ChatState {
  wire: 'chat';
  reasoningField?: string | undefined;
  /** OpenRouter's signed blocks, which must come back as they were. */
  reasoningDetails?: unknown[] | undefined;
}

/** The `reasoningField` of reasoning that is a part of the content. */
export const IN_CONTENT = 'content';

/** Settings that do not change over the calls of a provider. */
export interface ChatBodyOptions extends RequestSettings {
  dialect: Dialect;
}

export type ChatBody = ChatCompletionCreateParams;

/**
 * The body of a request. Its keys stand in the order of the prompt, tools and system before the
 * messages and everything that may change from call to call after them: a longer history of a session
 * gives a body that starts with the bytes of the shorter one's, up to the end of its messages.
 */
export function toOpenAIBody(request: ModelRequest, options: ChatBodyOptions): ChatBody {
  const { dialect, parallelTools, stream = true } = options;
  const { tools } = request;
  const limit = outputLimit(request, options);
  const sendsParallel = tools.length > 0 && parallelTools !== undefined && dialect.parallelTools;
  const body = {
    model: request.model,
    ...(tools.length > 0 ? { tools: tools.map(toChatTool) } : {}),
    messages: toChatMessages(request, options),
    stream,
    ...(stream && dialect.streamOptions ? { stream_options: { include_usage: true } } : {}),
    ...(tools.length > 0 && request.toolChoice === 'none' ? { tool_choice: 'none' } : {}),
    ...(sendsParallel ? { parallel_tool_calls: parallelTools } : {}),
    ...(limit === undefined ? {} : { [dialect.maxTokens]: limit }),
    ...effortFields(dialect.effort, request.effort ?? options.effort, request.thinking ?? options.thinking),
    ...(dialect.cacheKey ? { prompt_cache_key: request.session } : {}),
  };
  return body as ChatBody;
}

/**
 * System prompt and history as chat messages; a pure function of each step. A result holds text alone on
 * this wire: pictures follow the results of their step as a message of the user.
 */
function toChatMessages(request: ModelRequest, options: ChatBodyOptions): ChatCompletionMessageParam[] {
  const { dialect, parallelTools } = options;
  const sendsImages = options.images ?? (dialect.images === 'model' ? seesImages(request.model) : dialect.images);
  const messages: ChatCompletionMessageParam[] = [];
  if (request.system !== '') messages.push({ role: 'system', content: wellFormed(request.system) });
  const history = sendableHistory(request.messages, { oneCall: parallelTools === false });
  let images: ToolImage[] = [];
  history.forEach((message, index) => {
    if (message.role === 'user') messages.push({ role: 'user', content: message.content });
    else if (message.role === 'assistant') messages.push(toChatAssistant(message, dialect));
    else {
      const shown = sendsImages ? (message.images ?? []) : [];
      const hasHidden = message.images && !sendsImages;
      const content = hasHidden ? withImageNote(message.content, message.images ?? []) : message.content;
      messages.push({ role: 'tool', tool_call_id: idOfForm(message.callId, dialect.callIds), content });
      images.push(...shown);
      if (images.length === 0 || history[index + 1]?.role === 'tool') return;
      messages.push(toImages(images));
      images = [];
    }
  });
  return messages;
}

const toImages = (images: readonly ToolImage[]): ChatCompletionMessageParam => ({
  role: 'user',
  content: [
    { type: 'text', text: prompt('images-of-results') },
    ...images.map((image) => ({ type: 'image_url' as const, image_url: { url: dataUrl(image) } })),
  ],
});

function toChatAssistant(message: AssistantMessage, dialect: Dialect): ChatCompletionMessageParam {
  const calls = message.toolCalls.map((call) => ({
    id: idOfForm(call.id, dialect.callIds),
    type: 'function' as const,
    function: { name: call.name, arguments: argumentsText(call.arguments) },
  }));
  return {
    role: 'assistant',
    content: contentOf(message, dialect),
    ...reasoningFields(message, dialect),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  } as ChatCompletionMessageParam;
}

function contentOf(message: AssistantMessage, { reasoningBack }: Dialect): unknown {
  const { text, reasoning, toolCalls } = message;
  if (reasoningBack === 'chunks' && reasoning && stateOf(message)?.reasoningField === IN_CONTENT) {
    const thinking = { type: 'thinking', thinking: [{ type: 'text', text: reasoning }] };
    return text === '' ? [thinking] : [thinking, { type: 'text', text }];
  }
  return text === '' && toolCalls.length > 0 ? null : text;
}

function reasoningFields(message: AssistantMessage, dialect: Dialect): Record<string, unknown> {
  const state = stateOf(message);
  const hasCalls = message.toolCalls.length > 0;
  switch (dialect.reasoningBack) {
    case 'never':
    case 'chunks':
      return {};
    case 'calls':
      return hasCalls ? { reasoning_content: message.reasoning ?? '' } : {};
    case 'always':
      return { reasoning_content: message.reasoning ?? '' };
    case 'received':
      if (!hasCalls || !state) return {};
      if (state.reasoningDetails) return { reasoning_details: state.reasoningDetails };
      if (state.reasoningField === IN_CONTENT) return {};
      return state.reasoningField && message.reasoning ? { [state.reasoningField]: message.reasoning } : {};
  }
}

/** The state, when this wire wrote it; another wire's means nothing here. */
function stateOf(message: AssistantMessage): ChatState | undefined {
  const state = message.providerState as Partial<ChatState> | undefined | null;
  return state?.wire === 'chat' ? (state as ChatState) : undefined;
}

const toChatTool = ({ name, description, parameters }: ToolDefinition): ChatCompletionTool => ({
  type: 'function',
  function: { name, description: wellFormed(description), parameters },
});
