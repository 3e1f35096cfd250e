import type { EventOf } from '../core/events.ts';
import type { Message } from '../core/messages.ts';

export type Compaction = Pick<EventOf<'context.compacted'>, 'replaced' | 'messages' | 'reduced'>;

/** The messages after a compaction: what the fold does, and what a plan looks ahead with. */
export function compactedMessages(messages: readonly Message[], compaction: Compaction): Message[] {
  const { replaced, messages: head, reduced = [] } = compaction;
  const texts = new Map(reduced.map(({ call, content }) => [call, content]));
  const kept = messages.slice(replaced).map((message): Message => {
    const content = message.role === 'tool' ? texts.get(message.callId) : undefined;
    if (message.role !== 'tool' || content === undefined) return message;
    const { images: _images, ...text } = message;
    return { ...text, content };
  });
  return [...head, ...kept];
}
