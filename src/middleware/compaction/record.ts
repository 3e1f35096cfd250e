import type { Message } from '../../core/messages.ts';
import { prompt } from '../../core/prompts.ts';
import { clipStart, oneLine } from '../../core/text.ts';
import { shorten } from './shorten.ts';

/** Most characters of each kind of text that a record takes over. */
const MOST = { notice: 16_000, user: 4_000, assistant: 2_000, arguments: 300, result: 500, line: 160 };

/** Nothing is shortened to less, in characters. */
const LEAST = 60;

/** How the notice of an earlier compaction begins. */
const NOTICE = prompt('compacted', { record: '' }).split('\n', 1)[0] ?? '';

/** What the record of a compaction says, as the model reads it. */
export const noticeOf = (record: string): string => prompt('compacted', { record });

/** Messages as text for whoever sums them up, in at most `limit` characters: older ones give way. */
export function recordOf(messages: readonly Message[], limit = Number.POSITIVE_INFINITY): string {
  const whole = entriesOf(messages, 1);
  const size = whole.reduce((sum, entry) => sum + entry.length + 2, 0);
  if (size <= limit) return whole.join('\n\n');
  const entries = entriesOf(messages, limit / size);
  const kept: string[] = [];
  let room = limit;
  for (const entry of entries.toReversed()) {
    room -= entry.length + 2;
    if (room < 0) break;
    kept.unshift(entry);
  }
  return [`(${entries.length - kept.length} earlier entries are left out.)`, ...kept].join('\n\n');
}

function entriesOf(messages: readonly Message[], share: number): string[] {
  const cut = (text: string, most: number) => shorten(text.trim(), Math.max(LEAST, most * share), () => '[…]');
  return messages.flatMap((message) => {
    if (message.role === 'user') {
      const most = message.origin === 'notice' ? MOST.notice : MOST.user;
      return [`${message.origin}: ${cut(message.content, most)}`];
    }
    if (message.role === 'tool') {
      const kind = message.isError ? 'error' : 'result';
      return [`${kind} of ${message.name}: ${cut(message.content, MOST.result)}`];
    }
    const calls = message.toolCalls.map(({ name, arguments: text }) => `calls ${name} ${cut(text, MOST.arguments)}`);
    const said = message.text.trim() === '' ? [] : [`assistant: ${cut(message.text, MOST.assistant)}`];
    return [...said, ...calls];
  });
}

/**
 * The record when no model has made one: a line a step, newest first as long as there is room, after
 * what an earlier compaction had kept.
 */
export function stepLines(messages: readonly Message[], limit: number): string {
  const earlier = messages.findLast((message) => message.role === 'user' && message.content.startsWith(NOTICE));
  const kept = earlier?.role === 'user' ? clipStart(earlier.content.slice(NOTICE.length).trim(), limit / 2) : '';
  const lines = messages.filter((message) => message !== earlier).flatMap(lineOf);
  let room = limit - kept.length;
  let first = lines.length;
  while (first > 0 && room >= (lines[first - 1]?.length ?? 0) + 1) room -= (lines[--first]?.length ?? 0) + 1;
  const steps = prompt('compacted-steps', { left: first, lines: lines.slice(first).join('\n') });
  return kept === '' ? steps : `${kept}\n\n${steps}`;
}

function lineOf(message: Message): string[] {
  if (message.role === 'tool') return message.isError ? [line(`- error of ${message.name}: ${message.content}`)] : [];
  if (message.role === 'user') return [line(`- ${message.origin}: ${message.content}`)];
  const calls = message.toolCalls.map(({ name, arguments: text }) => line(`- ${name} ${text}`));
  return [...(message.text.trim() === '' ? [] : [line(`- said: ${message.text}`)]), ...calls];
}

const line = (text: string): string => clipStart(oneLine(text.slice(0, 4 * MOST.line)), MOST.line);
