import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { oneLine } from '../../core/text.ts';
import { systemCode } from '../../tools/tool-problem.ts';
import { problem } from './problem.ts';

/** Nothing that a repository brings is run but its filters, and nothing in the background. */
const SAFE = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.quotePath=false',
  'core.safecrlf=false',
  'submodule.recurse=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'apply.whitespace=nowarn',
  'apply.ignoreWhitespace=no',
  'user.name=reasonix',
  'user.email=reasonix@localhost',
].flatMap((setting) => ['-c', setting]);

/** Most bytes that git may answer with: a diff is the largest. */
const LARGEST_OUTPUT = 256 * 1024 * 1024;
/** A checkout of a large repository, with its filters, in milliseconds. */
const TIMEOUT = 5 * 60_000;
/** How often a command is tried again that found a lock of git. */
const LOCK_TRIES = 8;

const LOCKED =
  /\.lock'?: File exists|Unable to create '.*\.lock'|could not lock|cannot lock ref|index file open failed/;

export interface GitOptions {
  /** An index of our own instead of the repository's. */
  index?: string | undefined;
  input?: string | Uint8Array | undefined;
  /** Exit codes that are an answer. Default: only 0. */
  codes?: readonly number[] | undefined;
}

export interface GitAnswer {
  code: number;
  bytes: Buffer;
  text: string;
  errors: string;
}

/**
 * Runs git in a folder: without hooks, without what `GIT_*` variables of ours say about another
 * repository, tried again while something else holds a lock.
 * @throws ReasonixError `worktree` when it fails, or is not there.
 */
export async function git(folder: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> {
  for (let attempt = 1; ; attempt++) {
    const answer = await runGit(folder, args, options);
    if ((options.codes ?? [0]).includes(answer.code)) return answer;
    if (attempt >= LOCK_TRIES || !LOCKED.test(answer.errors)) {
      const why = oneLine(answer.errors).slice(0, 500) || `exit code ${answer.code}`;
      throw problem('git-failed', { command: args[0] ?? '', why });
    }
    await delay(25 * 2 ** attempt * (0.5 + Math.random()));
  }
}

/** The first line of what git answers. */
export const gitLine = async (folder: string, args: readonly string[], options?: GitOptions): Promise<string> =>
  (await git(folder, args, options)).text.trimEnd();

/** The paths of an answer that ends each with a NUL, a character a byte. */
export const gitPaths = async (folder: string, args: readonly string[], options?: GitOptions): Promise<string[]> =>
  (await git(folder, args, options)).bytes
    .toString('latin1')
    .split('\0')
    .filter((path) => path !== '');

/** A path as `gitPaths` gives it, on the disk: its bytes may be no UTF-8. */
export const pathIn = (top: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);

async function runGit(folder: string, args: readonly string[], { index, input }: GitOptions): Promise<GitAnswer> {
  const { execa } = await import('execa');
  const result = await execa('git', [...SAFE, ...args], {
    cwd: folder,
    env: environment(index),
    extendEnv: false,
    input: input ?? '',
    encoding: 'buffer',
    reject: false,
    stripFinalNewline: false,
    maxBuffer: LARGEST_OUTPUT,
    timeout: TIMEOUT,
    forceKillAfterDelay: 1_000,
    windowsHide: true,
  });
  const { exitCode, cause } = result;
  if (exitCode === undefined) {
    if (systemCode(cause) === 'ENOENT') {
      throw existsSync(folder) ? problem('git-missing') : problem('git-folder-gone', { folder });
    }
    throw problem('git-failed', { command: args[0] ?? '', why: result.shortMessage ?? 'it was stopped' }, cause);
  }
  const bytes = Buffer.from(result.stdout ?? []);
  return { code: exitCode, bytes, text: bytes.toString('utf8'), errors: Buffer.from(result.stderr ?? []).toString() };
}

/** Where git finds its own parts and the network; everything else of it would lead it elsewhere. */
const KEPT =
  /^GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|CURL_\w+|HTTP_\w+|PROXY_\w+|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM|EXEC_PATH|LFS_\w+)$/;

function environment(index: string | undefined): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_') || KEPT.test(name));
  return {
    ...Object.fromEntries(entries),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    GIT_LITERAL_PATHSPECS: '1',
    LC_ALL: 'C',
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
  };
}
