import type { Message, ToolMessage } from '../../core/messages.ts';
import { type Compaction, compactedMessages } from '../../session/compacted.ts';
import { sizeOf } from '../../session/context-size.ts';
import { leftOut } from '../../session/left-out.ts';
import type { Thread } from '../../session/thread.ts';
import type { Goals } from './goals.ts';
import { levelFor, shorten } from './shorten.ts';

/** Results of fewer characters are not worth a pointer. */
const SMALL = 600;

/** What is left of a fresh result at least, in characters: enough to see what it is. */
const LEAST_SHOWN = 400;

type Reduced = NonNullable<Compaction['reduced']>;

/** Tokens of the context after a compaction. */
export function tokensAfter({ messages, size }: Thread, compaction: Compaction): number {
  return size.tokensOf(size.frozen + charactersOf(compactedMessages(messages, compaction)));
}

const charactersOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + sizeOf(message), 0);

/** True for a message that began a turn. */
export const isRequest = (message: Message): boolean =>
  message.role === 'user' && message.origin !== 'nudge' && message.origin !== 'notice';

/**
 * Where the newest part begins, which no compaction touches: so many steps as there is room for, and at
 * least the newest one with all that follows it. A step is an answer with its results; it is never split.
 */
export function newestPart({ messages, size, openCalls }: Thread, room: number): number {
  let start = messages.length;
  let characters = 0;
  let isEnough = false;
  while (start > 0) {
    const from = stepStart(messages, start - 1);
    const step = messages.slice(from, start);
    characters += charactersOf(step);
    if (isEnough && size.tokensOf(characters) > room) break;
    start = from;
    const first = messages[from];
    // Open calls are the newest answer's: nothing behind it is enough.
    isEnough ||= first?.role === 'assistant' || (openCalls.size === 0 && first !== undefined && isRequest(first));
  }
  return start;
}

function stepStart(messages: readonly Message[], index: number): number {
  let start = index;
  while (start > 0 && messages[start]?.role === 'tool') start--;
  return start;
}

/**
 * The cheap way: old results become a line each. `undefined` when that is not enough and the old part
 * itself has to go.
 */
export function reduction(thread: Thread, newest: number, goals: Goals): Compaction | undefined {
  const { messages, size } = thread;
  const light: Compaction = { replaced: 0, messages: [], reduced: oldResults(thread, newest) };
  const newestTokens = size.tokensOf(charactersOf(messages.slice(newest)));
  const oldTokens = tokensAfter(thread, light) - newestTokens;
  if (oldTokens + Math.min(newestTokens, goals.newest) > goals.target) return undefined;
  const fitted = fitNewest(thread, light, goals.most);
  if (!fitted.reduced?.length || tokensAfter(thread, fitted) > goals.most) return undefined;
  return fitted;
}

/** Old results that have a body worth leaving out, as the lines that stand for them. */
function oldResults(thread: Thread, end: number): Reduced {
  return thread.messages.slice(0, end).flatMap((message) => {
    if (message.role !== 'tool' || sizeOf(message) < SMALL || !isReducible(thread, message)) return [];
    const pointer = leftOut(thread, 'compacted-result', { call: message.callId });
    const header = headerOf(message.content);
    return [{ call: message.callId, content: header === '' ? pointer : `${header}\n\n${pointer}` }];
  });
}

/** The lines above a child's answer, which say how it is continued. */
function headerOf(content: string): string {
  if (!content.startsWith('Subagent reference: ')) return '';
  const header = content.split('\n\n', 1)[0] ?? '';
  return header.length <= SMALL ? header : '';
}

function isReducible({ openCalls, loadedSkills }: Thread, { callId, content }: ToolMessage): boolean {
  if (openCalls.has(callId)) return false;
  for (const { pin } of loadedSkills.values()) if (pin !== undefined && content.includes(pin)) return false;
  return true;
}

/**
 * The same compaction with results of the newest part cut, the largest first, until the whole has
 * `limit` tokens. Without excess nothing is cut.
 */
export function fitNewest(thread: Thread, compaction: Compaction, limit: number): Compaction {
  const { size } = thread;
  const after = compactedMessages(thread.messages, compaction);
  const excess = size.frozen + charactersOf(after) - size.charactersOf(limit);
  if (excess <= 0) return compaction;
  const cuttable = after.filter(
    (message): message is ToolMessage =>
      message.role === 'tool' && message.content.length > LEAST_SHOWN && isReducible(thread, message),
  );
  const most = levelFor(
    cuttable.map(({ content }) => content.length),
    excess,
    LEAST_SHOWN,
  );
  const cut = cuttable.flatMap(({ callId: call, content }) => {
    if (content.length <= most) return [];
    return [{ call, content: shorten(content, most, (offset) => leftOut(thread, 'compacted-part', { call, offset })) }];
  });
  const already = (compaction.reduced ?? []).filter((each) => !cut.some(({ call }) => call === each.call));
  return { ...compaction, reduced: [...already, ...cut] };
}
