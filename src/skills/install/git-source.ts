import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Options } from 'execa';
import { messageOf, type ReasonixError } from '../../core/errors.ts';
import { LIMITS, sizeText } from './limits.ts';
import { refused } from './refused.ts';
import type { Source } from './source.ts';
import type { SourceEntry, SourceTree } from './tree.ts';

/** What git is told about itself by its environment and may keep; the rest could lead it elsewhere. */
const KEPT =
  /^GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|CURL_\w+|HTTP_\w+|PROXY_\w+|CONFIG_GLOBAL|CONFIG_SYSTEM|CONFIG_NOSYSTEM|EXEC_PATH|TRACE\w*)$/;

/** Nothing that a repository brings is run: no hooks, no monitors, no submodules, no templates. */
const SAFE = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.askPass=',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'fetch.writeCommitGraph=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'init.templateDir=',
  'init.defaultBranch=main',
].flatMap((setting) => ['-c', setting]);

export interface FetchContext {
  /** An empty folder of our own. */
  folder: string;
  signal: AbortSignal;
}

type GitSource = Extract<Source, { kind: 'git' }>;

/**
 * One revision of a repository, fetched without history and never checked out: its files are read
 * from git's own store, so that no filter, hook or link of it has an effect.
 */
export async function gitTree(source: GitSource, context: FetchContext): Promise<SourceTree> {
  const repository = join(context.folder, 'repository.git');
  const git = await gitIn(repository, source, context.signal);
  await git.text(['init', '--quiet', '--bare', '--', repository]);
  await fetchRevision(git, source, repository);
  const revision = (await git.text(['rev-parse', '--verify', '--end-of-options', 'FETCH_HEAD^{commit}'])).trim();
  const listing = await git.text(['ls-tree', '-r', '-l', '-z', '--full-tree', '--end-of-options', revision]);
  const objects = new Map<string, string>();
  const entries = listing
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => toEntry(line, objects));
  return {
    name: nameOf(source.url),
    revision,
    entries,
    read: (paths) => readBlobs(git, paths, objects),
  };
}

async function fetchRevision(git: Git, source: GitSource, repository: string): Promise<void> {
  const tooLarge = new AbortController();
  const watch = setInterval(async () => {
    if ((await packedSize(repository)) > LIMITS.fetchedBytes) tooLarge.abort();
  }, 250);
  try {
    const what = [
      'fetch',
      '--quiet',
      '--depth=1',
      '--no-tags',
      '--no-recurse-submodules',
      '--',
      source.url,
      source.ref ?? 'HEAD',
    ];
    await git.text(what, tooLarge.signal);
  } catch (error) {
    if (!tooLarge.signal.aborted) throw error;
    throw refused(
      `${source.url} has more than ${sizeText(LIMITS.fetchedBytes)}`,
      'install from a smaller repository or an archive',
    );
  } finally {
    clearInterval(watch);
  }
}

async function packedSize(repository: string): Promise<number> {
  let size = 0;
  for (const folder of ['objects/pack', 'objects']) {
    for (const name of await readdir(join(repository, folder)).catch(() => [])) {
      const state = await stat(join(repository, folder, name)).catch(() => undefined);
      if (state?.isFile()) size += state.size;
    }
  }
  return size;
}

/** `<mode> <type> <object> <size>\t<path>`. */
function toEntry(line: string, objects: Map<string, string>): SourceEntry {
  const tab = line.indexOf('\t');
  const [mode = '', type = '', object = '', size = ''] = line.slice(0, tab).split(/ +/);
  const path = line.slice(tab + 1);
  objects.set(path, object);
  const kind = mode === '120000' ? 'link' : type === 'blob' ? 'file' : 'other';
  return { path, kind, size: Number(size) || 0, executable: mode === '100755' };
}

async function readBlobs(git: Git, paths: readonly string[], objects: ReadonlyMap<string, string>) {
  const contents = new Map<string, Uint8Array>();
  if (paths.length === 0) return contents;
  const wanted = paths.map((path) => objects.get(path) ?? '');
  const output = await git.bytes(['cat-file', '--batch'], `${wanted.join('\n')}\n`);
  let at = 0;
  for (const path of paths) {
    const lineEnd = output.indexOf(10, at);
    const [, type, size] = output.toString('latin1', at, lineEnd).split(' ');
    if (lineEnd < 0 || type !== 'blob') throw refused(`${JSON.stringify(path)} cannot be read from the repository`);
    const start = lineEnd + 1;
    contents.set(path, output.subarray(start, start + Number(size)));
    at = start + Number(size) + 1;
  }
  return contents;
}

interface Git {
  text(args: readonly string[], signal?: AbortSignal): Promise<string>;
  bytes(args: readonly string[], input: string): Promise<Buffer>;
}

async function gitIn(repository: string, source: GitSource, signal: AbortSignal): Promise<Git> {
  const { execa } = await import('execa');
  const deadline = AbortSignal.timeout(LIMITS.fetchTime);
  const options = {
    env: environment(source.protocol),
    extendEnv: false,
    forceKillAfterDelay: 1_000,
    maxBuffer: LIMITS.totalBytes + 16 * 1024 * 1024,
    stripFinalNewline: false,
    windowsHide: true,
  } satisfies Options;
  const asking = async <T>(
    args: readonly string[],
    more: AbortSignal | undefined,
    run: (all: string[], cancel: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    const all = [...SAFE, ...(args[0] === 'init' ? [] : [`--git-dir=${repository}`]), ...args];
    try {
      return await run(all, AbortSignal.any([signal, deadline, ...(more ? [more] : [])]));
    } catch (error) {
      signal.throwIfAborted();
      throw gitProblem(error, source, deadline.aborted);
    }
  };
  return {
    text: (args, more) =>
      asking(
        args,
        more,
        async (all, cancelSignal) => (await execa('git', all, { ...options, stdin: 'ignore', cancelSignal })).stdout,
      ),
    bytes: (args, input) =>
      asking(args, undefined, async (all, cancelSignal) =>
        Buffer.from((await execa('git', all, { ...options, encoding: 'buffer', input, cancelSignal })).stdout),
      ),
  };
}

/** Ours, without what points git elsewhere; nobody is asked for anything. */
function environment(protocol: GitSource['protocol']): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_') || KEPT.test(name));
  return {
    // a host that does not answer to a key would otherwise ask on the terminal
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    ...Object.fromEntries(kept),
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    GIT_ALLOW_PROTOCOL: protocol === 'file' ? 'file' : 'https:ssh',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
  };
}

function gitProblem(error: unknown, source: GitSource, late: boolean): ReasonixError {
  const what = source.ref === undefined ? source.url : `${source.ref} of ${source.url}`;
  const { code, stderr } = error as { code?: string; stderr?: unknown };
  if (code === 'ENOENT') {
    return refused('git is not installed, or not on the PATH', 'install git, or use a folder or an archive', error);
  }
  if (late) return refused(`${what} was not fetched within ${LIMITS.fetchTime / 1_000} s`, 'try again', error);
  const said =
    Buffer.isBuffer(stderr) || stderr instanceof Uint8Array ? Buffer.from(stderr).toString() : String(stderr ?? '');
  const lines = said.split('\n').filter((line) => /^(?:fatal|error|remote): /.test(line));
  const why = lines.slice(0, 3).join('; ').slice(0, 500) || messageOf(error).split('\n')[0];
  return refused(`${what} could not be fetched: ${why}`, hintFor(said, source), error);
}

function hintFor(said: string, source: GitSource): string {
  if (/couldn't find remote ref|not our ref|unadvertised object/.test(said)) {
    const short = /^[0-9a-f]{4,39}$/.test(source.ref ?? '');
    return short ? 'a commit needs all 40 digits of its name' : 'check the name of the branch, tag or commit';
  }
  return 'check the address, and that git can read it without asking for a password';
}

const nameOf = (url: string): string =>
  url
    .replace(/[/\\]+$/, '')
    .replace(/(?:\/?\.git)?$/, '')
    .replace(/^.*[/:\\]/, '');
