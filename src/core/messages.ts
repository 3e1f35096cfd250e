/** A call that the model asked for. `arguments` is the text as the model wrote it, usually JSON. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
  /** The answer was cut in the middle of the call: it is answered, never run. */
  isCut?: boolean | undefined;
}

/** Who put a user message into the thread. Only the first three start a turn. */
export type MessageOrigin = 'user' | 'task' | 'continuation' | 'nudge' | 'notice';

export interface UserMessage {
  role: 'user';
  content: string;
  origin: MessageOrigin;
}

export interface AssistantMessage {
  role: 'assistant';
  text: string;
  reasoning?: string | undefined;
  toolCalls: ToolCall[];
  /** What the provider wants back with the next request, opaque to everything but its adapter. */
  providerState?: unknown;
}

export interface ToolMessage {
  role: 'tool';
  callId: string;
  name: string;
  content: string;
  isError: boolean;
  images?: ToolImage[] | undefined;
}

/** A picture that a tool gave back. */
export interface ToolImage {
  /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  mediaType: string;
  /** The file in base64. */
  data: string;
}

/** One entry of the history that a model sees. Adapters turn it into a provider's wire format. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** A tool as a model sees it. `parameters` is a JSON Schema object. */
export interface ToolDefinition {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}
