import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';
import type { AssistantMessage, ToolDefinition } from '../core/messages.ts';
import { wellFormed } from '../core/text.ts';
import type { ModelRequest } from './contract.ts';
import type { Dialect } from './dialects.ts';
import { argumentsText, sendableHistory } from './history.ts';

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

/** Settings that do not change over the calls of a provider. */
export interface ChatBodyOptions {
  dialect: Dialect;
  /** When the request names none. */
  maxOutputTokens?: number | undefined;
}

export type ChatBody = ChatCompletionCreateParamsStreaming;

/**
 * The body of a request. Its keys stand in the order of the prompt, tools and system before the
 * messages and everything that may change from call to call after them: a longer history of a session
 * gives a body that starts with the bytes of the shorter one's, up to the end of its messages.
 */
export function toOpenAIBody(request: ModelRequest, options: ChatBodyOptions): ChatBody {
  const { dialect } = options;
  const { tools, effort } = request;
  const limit = request.maxOutputTokens ?? options.maxOutputTokens;
  const body = {
    model: request.model,
    ...(tools.length > 0 ? { tools: tools.map(toChatTool) } : {}),
    messages: toChatMessages(request, dialect),
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length > 0 && request.toolChoice === 'none' ? { tool_choice: 'none' } : {}),
    ...(limit === undefined ? {} : { [dialect.maxTokens]: limit }),
    ...(effort === undefined ? {} : effortField(effort, dialect)),
    ...(dialect.cacheKey ? { prompt_cache_key: request.session } : {}),
  };
  return body as ChatBody;
}

/** System prompt and history as chat messages; a pure function of each message. */
export function toChatMessages(request: ModelRequest, dialect: Dialect): ChatCompletionMessageParam[] {
  const messages: ChatCompletionMessageParam[] = [];
  if (request.system !== '') messages.push({ role: 'system', content: wellFormed(request.system) });
  for (const message of sendableHistory(request.messages)) {
    if (message.role === 'user') messages.push({ role: 'user', content: message.content });
    else if (message.role === 'tool')
      messages.push({ role: 'tool', tool_call_id: message.callId, content: message.content });
    else messages.push(toChatAssistant(message, dialect));
  }
  return messages;
}

function toChatAssistant(message: AssistantMessage, dialect: Dialect): ChatCompletionMessageParam {
  const calls = message.toolCalls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: argumentsText(call.arguments) },
  }));
  return {
    role: 'assistant',
    content: message.text === '' && calls.length > 0 ? null : message.text,
    ...reasoningFields(message, dialect),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function reasoningFields(message: AssistantMessage, dialect: Dialect): Record<string, unknown> {
  const state = stateOf(message);
  const hasCalls = message.toolCalls.length > 0;
  switch (dialect.reasoningBack) {
    case 'never':
      return {};
    case 'calls':
      return hasCalls ? { reasoning_content: message.reasoning ?? '' } : {};
    case 'always':
      return { reasoning_content: message.reasoning ?? '' };
    case 'received':
      if (!hasCalls || !state) return {};
      if (state.reasoningDetails) return { reasoning_details: state.reasoningDetails };
      return state.reasoningField && message.reasoning ? { [state.reasoningField]: message.reasoning } : {};
  }
}

/** The state, when this wire wrote it; another wire's means nothing here. */
function stateOf(message: AssistantMessage): ChatState | undefined {
  const state = message.providerState as Partial<ChatState> | undefined | null;
  return state?.wire === 'chat' ? (state as ChatState) : undefined;
}

function effortField(effort: string, dialect: Dialect): Record<string, unknown> {
  if (dialect.effort === 'none') return {};
  return dialect.effort === 'reasoning' ? { reasoning: { effort } } : { reasoning_effort: effort };
}

const toChatTool = ({ name, description, parameters }: ToolDefinition): ChatCompletionTool => ({
  type: 'function',
  function: { name, description: wellFormed(description), parameters },
});
