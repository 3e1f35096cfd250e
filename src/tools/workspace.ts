import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { pathMatches } from '../core/wildcard.ts';
import { fileProblem, problem, systemCode, type ToolProblem } from './tool-problem.ts';

export interface WorkspaceOptions {
  /** The session's working folder, absolute. */
  cwd: string;
  /** More folders that may be read: those of skills. A function where the list grows; asked only when a path needs it. */
  readable?: readonly string[] | (() => readonly string[] | Promise<readonly string[]>) | undefined;
  /** More folders that may be read and written; absolute, from `~` or relative to `cwd`. */
  allowWrite?: readonly string[] | undefined;
  /** Files and folders that are neither read nor written, wherever they are; `*` and `**` as in globs, without `/` at any depth. */
  forbidRead?: readonly string[] | undefined;
  /** What `~` stands for. Default: the user's home folder. */
  home?: string | undefined;
  /** A folder of one session alone, absolute: it may be read and written, and need not exist yet. */
  scratch?: string | undefined;
}

const MAX_LINKS = 40;
/** Not on Windows, where there are no such flags and links need a privilege. */
const SAFE_OPEN = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Where the tools of one working folder may read and write. Paths are judged by where they really
 * lead: a symbolic link counts as its target, also when the target does not exist yet. Refusals read
 * the same whether or not something is there.
 */
export class Workspace {
  readonly cwd: string;
  readonly #options: WorkspaceOptions;
  readonly #home: string;
  readonly #scratch: string | undefined;
  readonly #readable: () => readonly string[] | Promise<readonly string[]>;
  readonly #allowWrite: readonly string[];
  readonly #forbidden: readonly string[];
  /** Real paths of the folders above; a folder that is missing is looked for again. */
  readonly #realRoots: Map<string, string>;

  constructor(options: WorkspaceOptions, realRoots = new Map<string, string>()) {
    if (!isAbsolute(options.cwd)) throw new RangeError(`the working folder must be absolute, but it is ${options.cwd}`);
    const { readable = [] } = options;
    this.cwd = resolve(options.cwd);
    this.#options = options;
    this.#realRoots = realRoots;
    this.#scratch = options.scratch;
    this.#home = options.home ?? homedir();
    this.#readable = typeof readable === 'function' ? readable : () => readable;
    this.#allowWrite = (options.allowWrite ?? []).map((path) => this.absolute(path));
    this.#forbidden = options.forbidRead ?? [];
  }

  /** The same folders for a session that has a scratch folder as well. */
  withScratch(scratch: string | undefined): Workspace {
    if (scratch === undefined) return this;
    // Paths of sessions come and go: they are not kept beside those of the folders that all share.
    return new Workspace({ ...this.#options, scratch }, new Map(this.#realRoots));
  }

  /**
   * The absolute form of a path as a model writes it: `~`, its scratch folder, relative, either kind of
   * separator. Looks at no disk.
   */
  absolute(path: string): string {
    const slashed = sep === '/' ? path.replaceAll('\\', '/') : path;
    if (this.#scratch !== undefined && /^\$(?:REASONIX_SCRATCH|\{REASONIX_SCRATCH\})(?=[\\/]|$)/.test(slashed)) {
      const inside = resolve(this.#scratch, `.${sep}${slashed.replace(/^[^\\/]*/, '')}`);
      // One that leads out of it is judged as what rules see: a path below the working folder.
      if (isInside(this.#scratch, inside)) return inside;
    }
    if (slashed === '~' || /^~[\\/]/.test(slashed)) return resolve(this.#home, `.${sep}${slashed.slice(1)}`);
    return resolve(this.cwd, slashed);
  }

  /** What permission rules match on: relative to the working folder with `/` when inside, else absolute. */
  subject(path: string): string {
    return this.#relativeTo(this.cwd, this.absolute(path));
  }

  /** A real path as the model should see it. */
  display(real: string): string {
    return this.#relativeTo(this.#realRoots.get(this.cwd) ?? this.cwd, real);
  }

  /** Whether a path, as it is written, lies in the scratch folder. Links are judged when it is opened. */
  isScratch(path: string): boolean {
    return this.#scratch !== undefined && isInside(this.#scratch, this.absolute(path));
  }

  /** The real path of something that may be read. @throws ToolProblem when it may not, or does not exist. */
  async resolveRead(path: string): Promise<string> {
    const { real, exists } = await this.#locate(path, 'read');
    if (await this.#isInScratch(path, real)) {
      if (!exists) throw problem('missing', { path });
      return real;
    }
    const isOwn = await this.#within(real, [this.cwd, ...this.#allowWrite]);
    if (!isOwn && !(await this.#within(real, await this.#readable()))) throw this.#outside(path, 'read');
    this.#refuseForbidden(path, real);
    if (!exists) throw problem('missing', { path });
    return real;
  }

  /** The real path of something that may be written, whether or not it exists. @throws ToolProblem */
  async resolveWrite(path: string): Promise<string> {
    if (this.#scratch !== undefined && this.isScratch(path)) {
      await mkdir(this.#scratch, { recursive: true, mode: 0o700 });
    }
    const { real } = await this.#locate(path, 'write');
    if (await this.#isInScratch(path, real)) return real;
    if (!(await this.#within(real, [this.cwd, ...this.#allowWrite]))) throw this.#outside(path, 'write');
    this.#refuseForbidden(path, real);
    return real;
  }

  /** Whether a real path lies in a folder of `readable` or the scratch folder, where hidden and ignored files are meant to be read. */
  async isReadableExtra(real: string): Promise<boolean> {
    if (this.#scratch !== undefined && isInside((await canonical(this.#scratch, MAX_LINKS)).real, real)) return true;
    const cwd = await this.realCwd();
    for (const root of await this.#readable()) {
      const realRoot = await this.#realRoot(root);
      if (realRoot !== undefined && isInside(realRoot, real) && !isInside(realRoot, cwd)) return true;
    }
    return false;
  }

  /** The working folder's real path. @throws ToolProblem when it is gone. */
  async realCwd(): Promise<string> {
    const real = await this.#realRoot(this.cwd);
    if (real === undefined) throw problem('working-folder-gone', { cwd: this.cwd });
    return real;
  }

  /** Whether `forbidRead` covers a real path. */
  isForbidden(real: string): boolean {
    if (this.#forbidden.length === 0) return false;
    const inside = this.display(real);
    return this.#forbidden.some((entry) => {
      const bare = entry.replaceAll('\\', '/').replace(/^(?:\.\/)+|\/+$/g, '');
      if (/[*?{]/.test(bare) || !bare.includes('/')) {
        const glob = bare.startsWith('/') || bare.includes('/') ? bare : `**/${bare}`;
        return [inside, slashes(real)].some((each) => pathMatches(glob, each) || pathMatches(`${glob}/**`, each));
      }
      const root = this.absolute(entry);
      return isInside(this.#realRoots.get(root) ?? root, real) || isInside(root, real);
    });
  }

  /**
   * Opens a regular file for reading. The last step follows no link and waits for no pipe, and where
   * the system tells, the opened file is checked again, so that a swap in between leads nowhere.
   */
  async open(path: string): Promise<{ handle: FileHandle; real: string; size: number; mode: number }> {
    const real = await this.resolveRead(path);
    let handle: FileHandle;
    try {
      handle = await open(real, constants.O_RDONLY | SAFE_OPEN);
    } catch (error) {
      throw fileProblem(error, path);
    }
    try {
      const stats = await handle.stat();
      if (stats.isDirectory()) {
        throw problem('is-a-folder', { path });
      }
      if (!stats.isFile()) throw problem('no-regular-file', { path });
      if (process.platform === 'linux') {
        const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => real);
        if (opened !== real) throw this.#outside(path, 'read');
      }
      return { handle, real, size: stats.size, mode: stats.mode };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #locate(path: string, verb: 'read' | 'write'): Promise<{ real: string; exists: boolean }> {
    if (path.includes('\0')) throw problem('path-nul');
    if (sep === '/' ? /^[A-Za-z]:[\\/]/.test(path) : /^.[^:]*:.*:|^[^:]{2,}:/.test(path)) {
      throw this.#outside(path, verb);
    }
    await this.realCwd();
    for (const root of this.#forbidden) await this.#realRoot(this.absolute(root));
    let absolute = this.absolute(path);
    // On POSIX a backslash may be a part of a name.
    if (sep === '/' && path.includes('\\')) {
      const literal = resolve(this.cwd, path);
      if (await exists(literal)) absolute = literal;
    }
    try {
      return await canonical(absolute, MAX_LINKS);
    } catch (error) {
      // A folder that cannot be entered: judged by its name, so that nothing is told about its inside.
      const code = systemCode(error);
      if (code === 'EACCES' || code === 'EPERM') return { real: absolute, exists: true };
      throw fileProblem(error, path);
    }
  }

  /** A path in the scratch folder may lead to nothing else: what is written there needs nobody's word. */
  async #isInScratch(path: string, real: string): Promise<boolean> {
    if (this.#scratch === undefined || !this.isScratch(path)) return false;
    const { real: root } = await canonical(this.#scratch, MAX_LINKS);
    if (!isInside(root, real)) throw this.#outside(path, 'write');
    return true;
  }

  async #within(real: string, roots: readonly string[]): Promise<boolean> {
    for (const root of roots) {
      const realRoot = await this.#realRoot(root);
      if (realRoot !== undefined && isInside(realRoot, real)) return true;
    }
    return false;
  }

  async #realRoot(root: string): Promise<string | undefined> {
    const known = this.#realRoots.get(root);
    if (known !== undefined && root !== this.cwd) return known;
    const real = await realpath(root).catch(() => undefined);
    if (real !== undefined) this.#realRoots.set(root, real);
    return real;
  }

  #refuseForbidden(path: string, real: string): void {
    if (this.isForbidden(real) || this.isForbidden(this.absolute(path))) {
      throw problem('forbidden', { path });
    }
  }

  #outside(path: string, verb: 'read' | 'write'): ToolProblem {
    return problem(verb === 'read' ? 'outside-read' : 'outside-write', { path, cwd: this.cwd });
  }

  #relativeTo(root: string, absolute: string): string {
    if (!isInside(root, absolute)) return slashes(absolute);
    return slashes(relative(root, absolute)) || '.';
  }
}

const slashes = (path: string): string => (sep === '/' ? path : path.replaceAll(sep, '/'));

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Where a path leads: links resolved as far as something exists, broken links by what they name. */
async function canonical(path: string, links: number): Promise<{ real: string; exists: boolean }> {
  try {
    return { real: await realpath(path), exists: true };
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
  }
  const parent = dirname(path);
  if (parent === path) return { real: path, exists: false };
  const above = await canonical(parent, links);
  const real = join(above.real, basename(path));
  const target = await readlink(real).catch(() => undefined);
  if (target === undefined) return { real, exists: false };
  if (links === 0) throw Object.assign(new Error('too many links'), { code: 'ELOOP' });
  return canonical(resolve(above.real, target), links - 1);
}
