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

const isRecord = (message: Message): boolean =>
  message.role === 'user' && message.origin === 'notice' && message.content.startsWith(NOTICE);

/** What the record of a compaction says, as the model reads it. */
export const noticeOf = (record: string): string => prompt('compacted', { record });

/**
 * Messages as text for whoever sums them up, in at most about `limit` characters: the longest steps are cut
 * first; then older ones give way. What users said is cut and left out only where it does not fit by itself,
 * and what an earlier compaction said never is.
 */
export function recordOf(messages: readonly Message[], limit = Number.POSITIVE_INFINITY): string {
  const entries = messages.flatMap((message) => entriesOf(message, limit));
  const shown = fitted(fitted(entries, 'step', limit), 'said', limit);
  const left = entries.length - shown.length;
  const texts = shown.map(({ text }) => text);
  return (left > 0 ? [`(${left} older entries are left out.)`, ...texts] : texts).join('\n\n');
}

/** Entries with those of one kind cut, the longest first, and the oldest left out, until all fit. */
function fitted(entries: readonly Entry[], kind: Entry['kind'], limit: number): readonly Entry[] {
  const excessOf = (all: readonly Entry[]) => all.reduce((sum, entry) => sum + lengthOf(entry), -limit);
  const lengths = entries.flatMap((entry) => (entry.kind === kind ? [lengthOf(entry)] : []));
  const level = levelFor(lengths, excessOf(entries), LEAST);
  const cut = entries.map((entry) => (entry.kind === kind ? { kind, text: shorten(entry.text, level, CUT) } : entry));
  let excess = excessOf(cut);
  return cut.filter((entry) => {
    if (excess <= 0 || entry.kind !== kind) return true;
    excess -= lengthOf(entry);
    return false;
  });
}

interface Entry {
  text: string;
  kind: 'step' | 'said' | 'record';
}

const lengthOf = ({ text }: Entry): number => text.length + 2;

const CUT = () => '[…]';

function entriesOf(message: Message, limit: number): Entry[] {
  const step = (text: string): Entry => ({ text, kind: 'step' });
  if (message.role === 'user') {
    const most = Math.min(message.origin === 'notice' ? MOST.notice : MOST.user, limit / 4);
    const kind = isRecord(message) ? 'record' : 'said';
    return [{ text: `${message.origin}: ${shorten(message.content, most, CUT)}`, kind }];
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
  const earlier = messages.findLast(isRecord);
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
