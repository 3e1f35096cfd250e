import { problemPrompt } from '../core/prompts.ts';

/** A failure whose message is the tool's answer: it tells the model what was wrong and what to do instead. */
export class ToolProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolProblem';
  }
}

/** The problem that `prompts/problems.md` has under this name. */
export function problem(
  name: string,
  slots: Record<string, string | number> = {},
  options?: ErrorOptions,
): ToolProblem {
  return new ToolProblem(problemPrompt(name, slots), options);
}

/** The code of a system error, `ENOENT` and its like. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** System errors that a file operation explains to a model. */
const EXPLAINED = new Set([
  'ENOENT',
  'ENOTDIR',
  'EEXIST',
  'EISDIR',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'ELOOP',
  'ENAMETOOLONG',
  'ENXIO',
  'EMFILE',
  'EBUSY',
]);

/** The problem that a failed file operation on `path` is for the model; anything else stays as it is. */
export function fileProblem(error: unknown, path: string): unknown {
  const code = systemCode(error);
  if (code === undefined || !EXPLAINED.has(code)) return error;
  return problem(`file-${code.toLowerCase()}`, { path }, { cause: error });
}
