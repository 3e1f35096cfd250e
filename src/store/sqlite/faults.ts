import { messageOf, ReasonixError } from '../../core/errors.ts';

/** What SQLite says when something is wrong with the file, the disk or a lock. */
export type Fault = 'busy' | 'full' | 'corrupt' | 'readonly';

const FAULTS: Record<number, Fault> = {
  5: 'busy', // SQLITE_BUSY
  6: 'busy', // SQLITE_LOCKED
  8: 'readonly', // SQLITE_READONLY
  10: 'full', // SQLITE_IOERR
  11: 'corrupt', // SQLITE_CORRUPT
  13: 'full', // SQLITE_FULL
  14: 'readonly', // SQLITE_CANTOPEN
  26: 'corrupt', // SQLITE_NOTADB
};

const SYSTEM_FAULTS: Record<string, Fault> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EIO: 'full',
  EACCES: 'readonly',
  EPERM: 'readonly',
  EROFS: 'readonly',
  ENOENT: 'readonly',
  ENOTDIR: 'readonly',
  EEXIST: 'readonly',
  EISDIR: 'readonly',
};

/** SQLite's own words, for drivers that lose its code on some of their ways. */
const WORDS: [RegExp, Fault][] = [
  [/^database( table| schema)? is locked/, 'busy'],
  [/^(database or disk is full|disk I\/O error)/, 'full'],
  [/^(database disk image is malformed|file is not a database|malformed database schema)/, 'corrupt'],
  [/^(attempt to write a readonly database|unable to open database file)/, 'readonly'],
];

export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, code } = error as { errcode?: unknown; code?: unknown };
  if (typeof errcode === 'number') return FAULTS[errcode & 0xff];
  if (code === 'ERR_SQLITE_ERROR') return WORDS.find(([words]) => words.test(error.message))?.[1];
  return typeof code === 'string' ? SYSTEM_FAULTS[code] : undefined;
}

/** The error that a caller of the store gets for one of SQLite or of the file system; ours pass unchanged. */
export function storeError(error: unknown, path: string): ReasonixError {
  if (ReasonixError.isInstance(error)) return error;
  const said = messageOf(error);
  const options = { cause: error, details: { path } };
  switch (faultOf(error)) {
    case 'full':
      return new ReasonixError('store_full', `cannot write to ${path}: the disk is full or failing (${said})`, {
        ...options,
        hint: 'free some space and resume the session; everything before this event is kept',
      });
    case 'busy':
      return new ReasonixError('session_busy', `${path} stayed locked by another process (${said})`, {
        ...options,
        hint: 'look for a stopped or very slow process that uses the same store, and try again',
      });
    case 'corrupt':
      return new ReasonixError('store_corrupt', `${path} is damaged (${said})`, {
        ...options,
        hint: 'other sessions of the file may still be readable; keep a copy of it',
      });
    case 'readonly':
      return new ReasonixError('store', `${path} cannot be opened for writing (${said})`, {
        ...options,
        hint: 'check the permissions of the folder, or set REASONIX_HOME to one that you may write to',
      });
    default:
      return new ReasonixError('store', `the session store ${path} failed: ${said}`, options);
  }
}
