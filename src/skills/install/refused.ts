import { ReasonixError } from '../../core/errors.ts';

/** What is wrong with a source or a skill in it, so that nothing of it is written. */
export const refused = (message: string, hint?: string, cause?: unknown): ReasonixError =>
  new ReasonixError('skill_refused', message, { hint, cause });

const SHOWN = 5;

/** The first few of many problems as one text. */
export function joinProblems(problems: readonly string[]): string {
  const shown = problems.slice(0, SHOWN).join('; ');
  return problems.length > SHOWN ? `${shown}; and ${problems.length - SHOWN} more` : shown;
}
