import { prompt } from '../core/prompts.ts';
import { byteLength } from '../core/text.ts';
import { totalTokens } from '../core/usage.ts';
import type { TurnResult } from '../session/turn-result.ts';
import { clippedAnswer, fairShare } from './fair-share.ts';

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

/** Texts of results, `limit` bytes in all as far as headers leave room: longer answers are cut, and say how to read on. */
export function boundedTexts(results: readonly ChildResult[], limit: number): string[] {
  const withAnswer = (result: ChildResult, answer: string) =>
    resultText({ ...result, turn: { ...result.turn, answer } });
  const around = results.reduce((sum, result) => sum + byteLength(withAnswer(result, '')) + 2, 0);
  const sizes = results.map(({ turn }) => byteLength(turn.answer));
  const share = Math.max(LEAST_ANSWER, fairShare(sizes, limit - around));
  return results.map((result) => withAnswer(result, clippedAnswer(result.turn.answer, share, result.reference)));
}

/** The lines of its reference and its figures, then the answer; of a failed child what it has, and why it failed. */
export function resultText({ reference, skill, turn, note = '', changes = '' }: ChildResult): string {
  const header = prompt('subagent-result', {
    reference,
    status: statusText(turn),
    skill,
    quoted: JSON.stringify(skill),
    steps: turn.steps,
    tokens: totalTokens(turn.usage.total),
  });
  const saysAll = turn.status === 'completed' || (turn.status === 'limit' && turn.answer !== '');
  const why = saysAll ? '' : (turn.reason ?? '');
  return [header, why && prompt('subagent-why', { why }), note, turn.answer, changes]
    .filter((part) => part !== '')
    .join('\n\n');
}
