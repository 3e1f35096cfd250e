import type { EventOf } from '../../core/events.ts';
import type { Message } from '../../core/messages.ts';
import { byteLength } from '../../core/text.ts';
import { leftOut } from '../../session/left-out.ts';
import type { RequestMessage, Thread } from '../../session/thread.ts';
import type { Goals } from './goals.ts';
import { isRequest } from './plan.ts';
import { shorten } from './shorten.ts';

type HeadMessage = EventOf<'context.compacted'>['messages'][number];

/** What the oldest part of a thread comes down to, apart from its record. */
export interface Head {
  /** So many messages are replaced. */
  cut: number;
  /** The messages that began the first and the newest turn, word for word unless they are enormous. */
  requests: HeadMessage[];
  /** Skill bodies that the newest part does not hold, word for word. */
  pins: string[];
  /** What a record is to be made of. */
  replaced: Message[];
}

/** The head of a thread whose newest part begins at `newest`. */
export function headOf(thread: Thread, newest: number, goals: Goals): Head {
  const { messages, firstRequest, lastRequest, size } = thread;
  const last = messages.findLastIndex(isRequest);
  const isEnormous = lastRequest !== undefined && size.tokensOf(lastRequest.content.length) > goals.request;
  // An enormous message cannot stay as it is, so that it moves into the head, where it is cut.
  const cut = isEnormous && last >= newest ? last + 1 : newest;
  const limit = size.charactersOf(goals.request);
  const kept = [firstRequest, last < cut && lastRequest !== firstRequest ? lastRequest : undefined];
  const requests =
    cut === 0 ? [] : kept.flatMap((request) => (request ? [requestMessage(request, limit, thread)] : []));
  const visible = [...requests, ...messages.slice(cut)];
  const pins = [...thread.loadedSkills.values()].flatMap(({ pin }) =>
    pin === undefined || visible.some((message) => holds(message, pin)) ? [] : [pin],
  );
  const first = messages.findIndex(isRequest);
  const replaced = messages.slice(0, cut).filter((_, index) => index !== first && index !== last);
  return { cut, requests, pins, replaced: replaced.map((message) => withoutPins(message, thread)) };
}

function requestMessage({ seq, origin, content }: RequestMessage, limit: number, thread: Thread): HeadMessage {
  const bytes = byteLength(content);
  const marker = (offset: number) => leftOut(thread, 'clipped', { bytes, call: messageId(seq), offset });
  return { role: 'user', origin, content: shorten(content, limit, marker) };
}

/** By this id `read_result` finds a message of the user's: its place in the log. */
export const messageId = (seq: number): string => `message-${seq}`;

const holds = (message: Message, pin: string): boolean => message.role !== 'assistant' && message.content.includes(pin);

/** A body that is kept needs no summing up. */
function withoutPins(message: Message, { loadedSkills }: Thread): Message {
  if (message.role === 'assistant') return message;
  let { content } = message;
  for (const { name, pin } of loadedSkills.values()) {
    if (pin !== undefined) content = content.replaceAll(pin, () => `[skill ${name}]`);
  }
  return content === message.content ? message : { ...message, content };
}

export const notice = (content: string): HeadMessage => ({ role: 'user', origin: 'notice', content });

/** Skills whose bodies are in the context after a compaction of the old part, or need not be. */
export const keptSkills = ({ loadedSkills }: Thread): EventOf<'context.compacted'>['keptSkills'] =>
  [...loadedSkills.values()].flatMap(({ name, hash, pin, isFixed }) =>
    pin !== undefined || isFixed ? [{ name, hash }] : [],
  );
