import { prompt } from '../core/prompts.ts';
import { byteLength, clipGraphemes } from '../core/text.ts';
import { totalTokens } from '../core/usage.ts';
import { neutralise } from '../skills/neutralise.ts';
import { clippedAnswer, fairShare } from './fair-share.ts';
import { type ChildResult, statusText } from './result-text.ts';

/** Most graphemes of an item, and of why it ended, that its section repeats: the model has its own call. */
const LONGEST_ITEM = 40;
const LONGEST_WHY = 300;

/** What became of an item: a child that ran to an end, or why there is none. */
export type ItemOutcome = { item: string } & ({ result: ChildResult } | { why: string });

export const isAnswered = ({ turn }: ChildResult): boolean => turn.status === 'completed' || turn.status === 'limit';

/**
 * What holds for all items in one line, then a section for each: a line that begins it, and the answer. All
 * of it in at most `limit` bytes: longer answers are cut, and say how to read on.
 */
export function itemsText(outcomes: readonly ItemOutcome[], skill: string, limit: number): string {
  const head = headOf(outcomes, skill);
  const render = (bytes: number) =>
    [head, ...outcomes.map((outcome, index) => section(outcome, index + 1, bytes))].join('\n\n');
  // Of an answer that is longer than all may be it does not matter by how much.
  const answers = outcomes.map((outcome) =>
    'why' in outcome ? 0 : byteLength(withoutItemLines(outcome.result.turn.answer.slice(0, limit))),
  );
  const room = limit - byteLength(render(0)) - 2 * outcomes.length;
  return render(Math.max(1, fairShare(answers, room)));
}

function headOf(outcomes: readonly ItemOutcome[], skill: string): string {
  const states = outcomes.map((outcome) => ('why' in outcome ? 'not started' : statusText(outcome.result.turn)));
  const summary = [...new Set(states)]
    .map((state) => `${states.filter((each) => each === state).length} ${state}`)
    .join(', ');
  let steps = 0;
  let tokens = 0;
  for (const outcome of outcomes) {
    if ('why' in outcome) continue;
    steps += outcome.result.turn.steps;
    tokens += totalTokens(outcome.result.turn.usage.total);
  }
  return prompt('items-result', { summary, steps, tokens, quoted: JSON.stringify(skill) });
}

/** `bytes` is what the answer may have; none with 0. */
function section(outcome: ItemOutcome, number: number, bytes: number): string {
  const item = clipGraphemes(neutralise(outcome.item), LONGEST_ITEM);
  if ('why' in outcome) {
    return prompt('item-not-started', { number, item, why: withoutItemLines(clipGraphemes(outcome.why, LONGEST_WHY)) });
  }
  const { reference, turn, changes = '' } = outcome.result;
  const status = statusText(turn);
  const line = prompt('item-result', {
    number,
    reference,
    state: status === 'completed' ? '' : ` · ${status}`,
    item,
  });
  const why = isAnswered(outcome.result) ? '' : clipGraphemes(turn.reason ?? '', LONGEST_WHY);
  const body = [
    why && withoutItemLines(prompt('subagent-why', { why })),
    bytes === 0 ? '' : answerIn(bytes, turn.answer, reference),
    withoutItemLines(changes),
  ].filter((part) => part !== '');
  return body.length === 0 ? line : `${line}\n${body.join('\n\n')}`;
}

/** Quoting makes an answer longer, and another cut has other lines to quote. */
function answerIn(bytes: number, answer: string, reference: string): string {
  let room = bytes;
  for (;;) {
    const text = withoutItemLines(clippedAnswer(answer, room, reference));
    const excess = byteLength(text) - bytes;
    // what says how to read on is there also when it alone is too long
    if (excess <= 0 || room <= 1) return text;
    room = Math.max(1, room - excess);
  }
}

const LINE = /[^\n\v\f\r\x85\u2028\u2029]+/g;
const LIKE_AN_ITEM_LINE =
  /^[^\p{L}\p{N}]*item[^\p{L}\p{N}]*\p{N}+(?:[^\p{L}\p{N}]*·|[^\p{L}\p{N}]*(?:sa_|not\P{L}*started))/iu;

/** What a child says may look like the line that begins the next item: such a line is quoted. */
const withoutItemLines = (text: string): string =>
  text.replace(LINE, (line) => (LIKE_AN_ITEM_LINE.test(neutralise(line).normalize('NFKC')) ? `> ${line}` : line));
