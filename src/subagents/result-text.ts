import { prompt } from '../core/prompts.ts';
import { byteLength } from '../core/text.ts';
import { totalTokens } from '../core/usage.ts';
import { clip } from '../middleware/clipping.ts';
import type { TurnResult } from '../session/turn-result.ts';

/** What is kept of each answer however many come at once, in bytes. */
const LEAST_ANSWER = 1024;

/** What a parent gets of a child. */
export interface ChildResult {
  reference: string;
  skill: string;
  turn: TurnResult;
  /** What the caller has to know besides. */
  note?: string | undefined;
  /** What a child with a worktree of its own changed, and what to do about it. */
  changes?: string | undefined;
}

/** `limit:steps` for a limit; a missing answer is a failure to the parent. */
export function statusText({ status, limit }: Pick<TurnResult, 'status' | 'limit'>): string {
  if (status === 'limit') return `limit:${limit?.which ?? 'unknown'}`;
  return status === 'no_answer' ? 'failed' : status;
}

/** The result in at most `limit` bytes: of a longer answer the head and the tail, with the way to the rest. */
export function boundedResultText(result: ChildResult, limit: number): string {
  const { reference, turn } = result;
  const { answer } = turn;
  const withAnswer = (text: string) => resultText({ ...result, turn: { ...turn, answer: text } });
  if (byteLength(withAnswer(answer)) <= limit) return withAnswer(answer);
  const bytes = byteLength(answer);
  const room = Math.max(LEAST_ANSWER, limit - byteLength(withAnswer('')) - 2);
  if (bytes <= room) return withAnswer(answer);
  return withAnswer(clip(answer, room, (offset) => prompt('clipped', { bytes, call: reference, offset })));
}

/** The lines of design §9, then the answer; of a failed child what it has, and why it failed. */
export function resultText({ reference, skill, turn, note = '', changes = '' }: ChildResult): string {
  const header = prompt('subagent-result', {
    reference,
    status: statusText(turn),
    skill,
    quoted: JSON.stringify(skill),
    steps: turn.steps,
    tokens: totalTokens(turn.usage.total),
  });
  const why = turn.status === 'completed' || turn.status === 'limit' ? '' : (turn.reason ?? '');
  return [header, why && prompt('subagent-why', { why }), note, turn.answer, changes]
    .filter((part) => part !== '')
    .join('\n\n');
}
