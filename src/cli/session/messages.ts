import type { StoredEvent } from '../../core/events.ts';
import type { Message } from '../../core/messages.ts';
import { Thread } from '../../session/thread.ts';

/** The messages of a session as `session show --json` prints them: all of them, compacted or not. */
export function messagesJson(session: string, events: readonly StoredEvent[]): Record<string, unknown>[] {
  const thread = Thread.fold(
    session,
    events.filter(({ type }) => type !== 'context.compacted'),
  );
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
