import type { Message } from '../../core/messages.ts';
import type { Thread } from '../../session/thread.ts';

/** The messages of a session as `session show --json` prints them. */
export function messagesJson(thread: Thread): Record<string, unknown>[] {
  const childOf = new Map(thread.children.map(({ ref, call }) => [call, ref]));
  return thread.history().map((message) => messageJson(message, childOf));
}

function messageJson(message: Message, childOf: ReadonlyMap<string, string>): Record<string, unknown> {
  switch (message.role) {
    case 'user':
      return { role: 'user', origin: message.origin, content: message.content };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.text,
        ...(message.reasoning === undefined ? {} : { reasoning: message.reasoning }),
        tool_calls: message.toolCalls,
      };
    case 'tool':
      return {
        role: 'tool',
        call: message.callId,
        name: message.name,
        content: message.content,
        is_error: message.isError,
        child: childOf.get(message.callId) ?? null,
      };
  }
}
