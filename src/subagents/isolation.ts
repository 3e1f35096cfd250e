import { existsSync } from 'node:fs';
import { mkdir, rmdir } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { ReasonixError } from '../core/errors.ts';
import type { EventOf, SessionEvent } from '../core/events.ts';
import { isReference } from '../core/ids.ts';
import { prompt } from '../core/prompts.ts';
import type { SessionInfo } from '../session/middleware.ts';
import { Thread } from '../session/thread.ts';
import { type Append, type Logs, withLog, withLogOfChild } from './held-log.ts';
import { diffFile, newWorktree, worktreeFolder, worktreesFolder } from './own-folders.ts';
import { diffOf } from './worktree/diff.ts';
import { isIntact, makeWorktree, removeOthers, removeWorktree, removeWorktrees } from './worktree/folder.ts';
import { innerRepositories } from './worktree/inner.ts';
import { mergeInto, treeWith } from './worktree/merge.ts';
import { problem } from './worktree/problem.ts';
import { findRepository } from './worktree/repository.ts';
import { commitNow } from './worktree/snapshot.ts';
import { type WorktreeState, worktreeState } from './worktree/state.ts';
import { keepDiff, keptDiff } from './worktree/stored-diff.ts';

export interface IsolationOptions extends Logs {
  reasonixHome: string;
  /** Told the working folder of every worktree that is removed. */
  closed(cwd: string): void;
}

/** What a child changed in its worktree, as far as it is known. */
export interface Changes {
  reference: string;
  files: number;
  stat: string;
  /** As `git apply` takes it; bytes that are no UTF-8 are replaced. */
  diff: string;
  bytes: number;
  /** Repositories in the worktree whose contents are in no diff; as long as there are any, the worktree stays. */
  inner?: readonly string[] | undefined;
  /** Why the changes could not be looked at; the worktree stays as it is. */
  problem?: string | undefined;
}

/** How an `apply` ended. Nothing was done when the changes were applied or dropped before. */
export interface Applied {
  reference: string;
  how: 'applied' | 'discarded' | 'unchanged';
  isNew: boolean;
  /** When it happened, ISO 8601, if it was before. */
  at?: string | undefined;
  /** Where the changes are now. */
  folder: string;
  files: number;
  stat: string;
}

/**
 * Git worktrees of children whose skill says `isolation: worktree`. What exists of one is told by the
 * child's log: a worktree that is gone is made again from its base and its diff.
 */
export class Isolation {
  readonly #options: IsolationOptions;

  constructor(options: IsolationOptions) {
    this.#options = options;
  }

  /** Whether the session works in a worktree of its own. A child of it works there too, and is not isolated from it. */
  isIsolated({ session, kind, cwd }: Pick<SessionInfo, 'session' | 'kind' | 'cwd'>): boolean {
    if (kind !== 'child') return false;
    const folder = worktreeFolder(this.#options.reasonixHome, session);
    return cwd === folder || cwd.startsWith(join(folder, '/'));
  }

  /**
   * Makes the worktree of a new child, and gives what its log is to say of it. Each attempt has a folder of
   * its own: of several processes that make one for the same child, each may be stopped anywhere, and the
   * one that begins the log has its worktree untouched by the others; `keep` removes theirs. The child sees
   * what its caller sees: the commit, changes that are not committed, and new files that are not ignored; a
   * copy of `source` what that one has done.
   * @throws ReasonixError `worktree` where there can be none, in words for a model.
   */
  async make(reference: string, caller: string, source?: string): Promise<EventOf<'worktree.started'>> {
    const folder = newWorktree(this.#options.reasonixHome, reference);
    try {
      return await this.#make(folder, caller, source);
    } catch (error) {
      await this.#drop(folder);
      throw error;
    }
  }

  async #make(folder: string, caller: string, source?: string): Promise<EventOf<'worktree.started'>> {
    const around = await findRepository(caller);
    const { top, common, prefix, head } = around;
    const cwd = prefix === '' ? folder : join(folder, prefix);
    const place = { type: 'worktree.started' as const, folder, cwd, caller, repository: top, common };
    const copied = source === undefined ? undefined : await this.#state(source);
    const isCopy = copied !== undefined && !copied.closed && copied.started.common === common;
    const start = isCopy ? copied.started : { head, base: await commitNow(around) };
    const started = { ...place, head: start.head, base: start.base };
    await this.#build(started, isCopy ? await this.#bytesOf(source ?? '', copied) : undefined);
    return started;
  }

  /** Removes the worktree of a child that could not be started. */
  async abandon({ folder, repository, cwd }: EventOf<'worktree.started'>): Promise<void> {
    await this.#drop(folder, repository);
    this.#options.closed(cwd);
  }

  /** Removes what was made for a child before a crash, now that its log names the worktree that it has. */
  async keep({ folder, common }: EventOf<'worktree.started'>): Promise<void> {
    // What stays goes with the worktree itself.
    await removeOthers(folder, common).catch(() => {});
  }

  /**
   * Before a child that has a log is opened: its worktree is there again, a new one when it was closed. One
   * process at a time makes it. @throws ReasonixError `session_busy` when somebody has the child.
   */
  async ready(info: Pick<SessionInfo, 'session' | 'kind' | 'cwd'>): Promise<void> {
    if (!this.isIsolated(info)) return;
    const state = await this.#state(info.session);
    if (!state || (!state.closed && (await isIntact(state.started.folder, state.started.base)))) return;
    await withLog(this.#options, info.session, async (append, events) => {
      // Somebody else may have been here before the lease was had.
      const now = worktreeState(events) ?? state;
      if (!now.closed) return this.#ensure(info.session, now);
      const made = await this.#make(now.started.folder, now.started.caller);
      const started = { ...made, cwd: info.cwd };
      const notice: SessionEvent = { type: 'user.message', origin: 'notice', content: prompt('worktree-renewed') };
      const isCut = Thread.fold(info.session, events).turn !== undefined;
      await append(isCut ? [started] : [started, notice]);
    });
  }

  /** After a turn: writes down what has changed, once, and lets go of a worktree without changes. */
  async settle(reference: string): Promise<Changes | undefined> {
    const none = { reference, files: 0, stat: '', diff: '', bytes: 0 };
    if (!existsSync(worktreeFolder(this.#options.reasonixHome, reference))) return undefined;
    try {
      return await withLogOfChild(this.#options, reference, async (append, events) => {
        const state = worktreeState(events);
        if (!state) return undefined;
        const found = state.isSettled ? undefined : await this.#record(reference, state, append);
        const inner = found?.inner;
        if (!state.diff || state.closed) return { ...none, inner };
        const bytes = await keptDiff(state.diff, this.#diffFile(reference));
        const { files, stat } = state.diff;
        return { reference, files, stat, diff: bytes.toString('utf8'), bytes: bytes.length, inner };
      });
    } catch (error) {
      // Somebody else has gone on with the child: its changes are told with that turn.
      if (ReasonixError.isInstance(error, 'reference_busy')) return undefined;
      if (!ReasonixError.isInstance(error, 'worktree')) throw error;
      return { ...none, problem: error.message };
    }
  }

  /**
   * Merges the changes of a child into the working tree around `folder`, by default that of its caller,
   * all of them or none, or drops them. Either way its worktree is removed.
   * @throws ReasonixError `reference_busy` while it runs; `worktree` when it has none, or for conflicts.
   */
  async apply(
    reference: string,
    options: { discard?: boolean | undefined; folder?: string | undefined } = {},
  ): Promise<Applied> {
    return withLogOfChild(this.#options, reference, async (append, events) => {
      const state = worktreeState(events);
      if (!state) throw problem('worktree-none', { reference });
      const folder = options.folder ?? state.started.caller;
      const summary = () => ({ reference, folder, files: state.diff?.files ?? 0, stat: state.diff?.stat ?? '' });
      if (state.closed) return { ...summary(), how: state.closed.how, isNew: false, at: state.closed.at };
      if (!options.discard) {
        const found = await this.#record(reference, state, append);
        if (state.closed) return { ...summary(), how: 'unchanged', isNew: true };
        if (found.inner.length > 0) {
          throw problem('worktree-inner', { names: found.inner.join(', '), folder: state.started.folder });
        }
        const { top, common } = await findRepository(folder);
        if (common !== state.started.common) {
          throw problem('worktree-other-repository', { reference, folder, repository: state.started.repository });
        }
        const { base } = state.started;
        await mergeInto(top, { base, tree: found.tree ?? (await treeWith(top, base, found.bytes)) });
      }
      const how = options.discard ? 'discarded' : 'applied';
      await this.#close(reference, state, how, append);
      return { ...summary(), how, isNew: true };
    });
  }

  /** The newest diff that the log of a child holds, whole. */
  async diffText(reference: string): Promise<string | undefined> {
    const diff = (await this.#state(reference))?.diff;
    return diff && (await keptDiff(diff, this.#diffFile(reference))).toString('utf8');
  }

  /** Whether a folder lies in the worktree of some child. */
  isWorktree(cwd: string): boolean {
    return cwd.startsWith(join(worktreesFolder(this.#options.reasonixHome), sep));
  }

  /** For a folder in a worktree: where the caller works, whose skills the child was started with. */
  async callerAbove(cwd: string): Promise<string | undefined> {
    const [reference = ''] = relative(worktreesFolder(this.#options.reasonixHome), cwd).split(sep);
    return isReference(reference) ? (await this.#state(reference))?.started.caller : undefined;
  }

  async #state(reference: string): Promise<WorktreeState | undefined> {
    return worktreeState(await this.#options.store.read(reference));
  }

  async #ensure(reference: string, { started, diff }: WorktreeState): Promise<void> {
    if (await isIntact(started.folder, started.base)) return;
    await this.#build(started, diff && (await keptDiff(diff, this.#diffFile(reference))));
  }

  async #build({ folder, cwd, repository, head, base }: EventOf<'worktree.started'>, patch?: Buffer): Promise<void> {
    await makeWorktree({ folder, repository, head, base, patch });
    // A folder of ignored files, or an empty one, is in no commit.
    await mkdir(cwd, { recursive: true });
  }

  /** The changes as they are now, else as the log has them. */
  async #bytesOf(reference: string, { started, diff }: WorktreeState): Promise<Buffer> {
    const { folder, base } = started;
    if (await isIntact(folder, base)) return (await diffOf(folder, base)).bytes;
    if (!diff) throw problem('worktree-gone', { reference, folder });
    return keptDiff(diff, this.#diffFile(reference));
  }

  /** Compares, and appends the diff when it is another one than the log has; without changes the worktree is closed. */
  async #record(reference: string, state: WorktreeState, append: Append): Promise<Found> {
    const { folder, base } = state.started;
    if (!(await isIntact(folder, base)))
      return { bytes: await this.#bytesOf(reference, state), tree: undefined, inner: [] };
    const diff = await diffOf(folder, base);
    const inner = await innerRepositories(folder);
    if (diff.files === 0 && inner.length === 0) await this.#close(reference, state, 'unchanged', append);
    else if (diff.files > 0) {
      const isKnown = state.isSettled && state.diff?.hash === diff.hash;
      state.diff = isKnown ? state.diff : await keepDiff(diff, this.#diffFile(reference));
      if (!isKnown && state.diff) await append([state.diff]);
    } else state.diff = undefined;
    return { ...diff, inner };
  }

  async #close(reference: string, state: WorktreeState, how: Applied['how'], append: Append): Promise<void> {
    const closed: EventOf<'worktree.closed'> = { type: 'worktree.closed', how };
    const [stored] = await append([closed]);
    state.closed = { ...closed, at: stored?.at ?? '' };
    await removeWorktrees(worktreeFolder(this.#options.reasonixHome, reference), state.started.common);
    this.#options.closed(state.started.cwd);
  }

  async #drop(folder: string, repository?: string): Promise<void> {
    await removeWorktree(folder, repository).catch(() => {});
    await rmdir(dirname(folder)).catch(() => {});
  }

  #diffFile(reference: string): string {
    return diffFile(this.#options.reasonixHome, reference);
  }
}

/** `tree` where the worktree itself was looked at. */
interface Found {
  bytes: Buffer;
  tree: string | undefined;
  inner: readonly string[];
}
