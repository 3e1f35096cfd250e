import type { Message } from '../../core/messages.ts';
import { prompt } from '../../core/prompts.ts';
import { clipStart, oneLine } from '../../core/text.ts';
import { levelFor, shorten } from './shorten.ts';

/** Most characters of each kind of text that a record takes over. */
const MOST = { notice: 16_000, user: 4_000, assistant: 2_000, arguments: 300, result: 500, line: 160 };

/** Nothing is shortened to less, in characters. */
const LEAST = 160;

/** How the notice of an earlier compaction begins. */
const NOTICE = prompt('compacted', { record: '' }).split('\n', 1)[0] ?? '';

/** What the record of a compaction says, as the model reads it. */
export const noticeOf = (record: string): string => prompt('compacted', { record });

/**
 * Messages as text for whoever sums them up, in at most about `limit` characters: the longest entries
 * are cut first; then older steps give way, but never what users and earlier compactions said.
 */
export function recordOf(messages: readonly Message[], limit = Number.POSITIVE_INFINITY): string {
  const entries = messages.flatMap((message) => entriesOf(message, limit));
  const level = levelFor(
    entries.map(lengthOf),
    entries.reduce((sum, entry) => sum + lengthOf(entry), 0) - limit,
    LEAST,
  );
  let excess = -limit;
  for (const entry of entries) {
    if (!entry.isKept) entry.text = shorten(entry.text, level, CUT);
    excess += lengthOf(entry);
  }
  const shown = entries.filter((entry) => {
    if (excess <= 0 || entry.isKept) return true;
    excess -= lengthOf(entry);
    return false;
  });
  const left = entries.length - shown.length;
  const texts = shown.map(({ text }) => text);
  return (left > 0 ? [`(${left} older entries are left out.)`, ...texts] : texts).join('\n\n');
}

interface Entry {
  text: string;
  isKept: boolean;
}

const lengthOf = ({ text }: Entry): number => text.length + 2;

const CUT = () => '[…]';

function entriesOf(message: Message, limit: number): Entry[] {
  const step = (text: string): Entry => ({ text, isKept: false });
  if (message.role === 'user') {
    const most = Math.min(message.origin === 'notice' ? MOST.notice : MOST.user, limit / 4);
    return [{ text: `${message.origin}: ${shorten(message.content, most, CUT)}`, isKept: true }];
  }
  if (message.role === 'tool') {
    const kind = message.isError ? 'error' : 'result';
    return [step(`${kind} of ${message.name}: ${shorten(message.content, MOST.result, CUT)}`)];
  }
  const said = message.text.trim() === '' ? [] : [step(`assistant: ${shorten(message.text, MOST.assistant, CUT)}`)];
  const calls = message.toolCalls.map(({ name, arguments: text }) =>
    step(`calls ${name} ${shorten(text, MOST.arguments, CUT)}`),
  );
  return [...said, ...calls];
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
