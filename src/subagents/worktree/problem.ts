import { ReasonixError } from '../../core/errors.ts';
import { problemPrompt } from '../../core/prompts.ts';

/** Why a worktree cannot be made or its changes cannot be applied, in words for a model and a person alike. */
export function problem(name: string, slots: Record<string, string | number> = {}, cause?: unknown): ReasonixError {
  return new ReasonixError('worktree', problemPrompt(name, slots), { cause });
}
