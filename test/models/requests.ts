import type { AssistantMessage, Message, MessageOrigin, ToolMessage } from '../../src/core/messages.ts';
import type { ModelDelta, ModelRequest } from '../../src/models/contract.ts';

export const user = (content: string, origin: MessageOrigin = 'user'): Message => ({ role: 'user', content, origin });

export const assistant = (text: string, calls: [id: string, name: string, args?: string][] = []): AssistantMessage => ({
  role: 'assistant',
  text,
  toolCalls: calls.map(([id, name, args = '{}']) => ({ id, name, arguments: args })),
});

export const result = (callId: string, name: string, content: string, isError = false): ToolMessage => ({
  role: 'tool',
  callId,
  name,
  content,
  isError,
});

export const request = (messages: Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  tools: [],
  system: '',
  messages,
  model: 'm',
  session: 's_0000test',
  ...more,
});

/** A signal that nobody aborts. */
export const never = new AbortController().signal;

export function collect(): { deltas: ModelDelta[]; onDelta: (delta: ModelDelta) => void; text(): string } {
  const deltas: ModelDelta[] = [];
  return {
    deltas,
    onDelta: (delta) => void deltas.push(delta),
    text: () => deltas.map((delta) => (delta.type === 'text' ? delta.text : '')).join(''),
  };
}
