import { prompt } from '../core/prompts.ts';
import { totalTokens } from '../core/usage.ts';
import type { TurnResult } from '../session/turn-result.ts';

/** What a parent gets of a child. */
export interface ChildResult {
  reference: string;
  skill: string;
  turn: TurnResult;
}

/** `limit:steps` for a limit; a missing answer is a failure to the parent. */
export function statusText({ status, limit }: Pick<TurnResult, 'status' | 'limit'>): string {
  if (status === 'limit') return `limit:${limit?.which ?? 'unknown'}`;
  return status === 'no_answer' ? 'failed' : status;
}

/** The lines of design §9, then the answer; of a failed child what it has, and why it failed. */
export function resultText({ reference, skill, turn }: ChildResult): string {
  const header = prompt('subagent-result', {
    reference,
    status: statusText(turn),
    skill,
    quoted: JSON.stringify(skill),
    steps: turn.steps,
    tokens: totalTokens(turn.usage.total),
  });
  const why = turn.status === 'completed' || turn.status === 'limit' ? '' : (turn.reason ?? '');
  return [header, why && prompt('subagent-why', { why }), turn.answer].filter((part) => part !== '').join('\n\n');
}
