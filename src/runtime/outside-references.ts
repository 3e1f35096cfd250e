import { realpath } from 'node:fs/promises';
import { ReasonixError } from '../core/errors.ts';
import { isReference } from '../core/ids.ts';
import { prompt } from '../core/prompts.ts';
import { Thread } from '../session/thread.ts';
import { neutralise } from '../skills/neutralise.ts';
import type { SessionStore } from '../store/contract.ts';
import { childLines } from '../subagents/list-children.ts';
import type { FullResultLookup } from '../tools/read-result.ts';

/** Most sub-agents that one answer names, and newest sessions that are looked at for them. */
const MOST_LINES = 50;
const MOST_SESSIONS = 200;

/**
 * The sub-agents of one working folder, whichever session they belong to: what an agent outside may go on
 * with. Those of other folders are not its own, since it may do here what was not allowed there.
 */
export class OutsideReferences {
  readonly #store: SessionStore;
  readonly #cwd: string;
  readonly #fullText: FullResultLookup;

  constructor(store: SessionStore, cwd: string, fullText: FullResultLookup) {
    this.#store = store;
    this.#cwd = cwd;
    this.#fullText = fullText;
  }

  /** @throws ReasonixError `reference_unknown` or `reference_foreign`, in words for a model. */
  async find(reference: string): Promise<{ thread: Thread; root: string }> {
    const thread = Thread.fold(reference, isReference(reference) ? await this.#store.read(reference) : []);
    const root = thread.started?.root ?? '';
    const { sessions } = root === '' ? { sessions: [] } : await this.#store.list({ idPrefix: root }, { limit: 1 });
    const folder = sessions[0]?.cwd;
    if (folder === undefined) {
      throw new ReasonixError('reference_unknown', prompt('reference-unknown', { reference: neutralise(reference) }));
    }
    if (!(await isSameFolder(folder, this.#cwd))) {
      throw new ReasonixError('reference_foreign', prompt('reference-elsewhere', { reference }));
    }
    return { thread, root };
  }

  /** A line each, of the session that did something last first. */
  async list(): Promise<string> {
    const { sessions } = await this.#roots(MOST_SESSIONS);
    const lines: string[] = [];
    for (const { session } of sessions) {
      lines.push(...(await childLines(this.#store, session, MOST_LINES)));
      if (lines.length > MOST_LINES)
        return [...lines.slice(0, MOST_LINES), prompt('more-subagents', { limit: MOST_LINES })].join('\n');
    }
    return lines.length === 0 ? prompt('no-subagents') : lines.join('\n');
  }

  /** The whole text behind a reference, or behind the id of a call that a marker names. */
  async text(id: string): Promise<string | undefined> {
    const reference = id.replace(/\.diff$/, '');
    if (isReference(reference)) return this.#fullText((await this.find(reference)).root, id);
    const { sessions } = await this.#roots(MOST_LINES);
    for (const { session } of sessions) {
      const text = await this.#fullText(session, id);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  #roots(limit: number) {
    return this.#store.list({ kind: 'root', cwd: this.#cwd }, { limit, by: 'updated' });
  }
}

async function isSameFolder(one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  const real = (path: string) => realpath(path).catch(() => path);
  return (await real(one)) === (await real(other));
}
