/** A failure whose message is the tool's answer: it tells the model what was wrong and what to do instead. */
export class ToolProblem extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolProblem';
  }
}

/** The code of a system error, `ENOENT` and its like. */
export function systemCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

const REASONS: Record<string, string> = {
  ENOENT: 'does not exist. Find the right path with list_files.',
  ENOTDIR: 'does not exist: a part of the path is a file. Find the right path with list_files.',
  EEXIST: 'cannot be made: a part of the path is a file.',
  EISDIR: 'is a folder. Use list_files to see what is in it.',
  EACCES: 'may not be opened: the operating system refuses it.',
  EPERM: 'may not be opened: the operating system refuses it.',
  EROFS: 'is on a read-only file system.',
  ENOSPC: 'could not be written: the disk is full.',
  EDQUOT: 'could not be written: the disk quota is used up.',
  ELOOP: 'is a symbolic link that leads in a circle.',
  ENAMETOOLONG: 'is too long for a path.',
  ENXIO: 'is no regular file.',
  EMFILE: 'could not be opened: too many files are open. Try again.',
  EBUSY: 'is in use by another program. Try again.',
};

/** The problem that a failed file operation on `path` is for the model; anything else stays as it is. */
export function fileProblem(error: unknown, path: string): unknown {
  const code = systemCode(error);
  const reason = code === undefined ? undefined : REASONS[code];
  return reason === undefined ? error : new ToolProblem(`${path} ${reason}`, { cause: error });
}
