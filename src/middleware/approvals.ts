import type { ToolRun } from '../session/middleware.ts';

/** A call that needs somebody's word. */
export interface ApprovalRequest {
  /** The session that asks, and the skill it runs, so that a person sees which child it is. */
  session: string;
  skill: string | undefined;
  /** The skills that lead to it, from the root's child down to its own; empty for a root. */
  path: readonly string[];
  /** Where it works, absolute: `subject` may be relative to it. */
  cwd: string;
  tool: string;
  /** The path, command or address. */
  subject: string;
  input: unknown;
  signal: AbortSignal;
}

/** `always` also allows the same tool and subject, in the same working folder, for the rest of the process. */
export type Approval = 'once' | 'always' | 'no';

/** Puts questions to somebody, one after the other, and remembers what was allowed for good. */
export class Approvals {
  readonly #pathOf: (session: string) => readonly string[];
  readonly #always = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(pathOf: (session: string) => readonly string[]) {
    this.#pathOf = pathOf;
  }

  /** @throws the signal's reason when the call is stopped before there is an answer: the question is withdrawn. */
  async allow(
    { tool, input, turn }: ToolRun,
    subject: string,
    approve: (request: ApprovalRequest) => Promise<Approval>,
  ): Promise<boolean> {
    const { signal, info } = turn;
    const key = JSON.stringify([tool.name, subject, info.cwd]);
    const ask = async (): Promise<boolean> => {
      signal.throwIfAborted();
      // Somebody may have said `always` to the same question of a sibling.
      if (this.#always.has(key)) return true;
      const { session, skill, cwd } = info;
      const path = this.#pathOf(session);
      const approval = await approve({
        session,
        skill: skill?.name,
        path,
        cwd,
        tool: tool.name,
        subject,
        input,
        signal,
      });
      signal.throwIfAborted();
      if (approval === 'always') this.#always.add(key);
      return approval !== 'no';
    };
    const answer = this.#last.then(() => unlessAborted(ask(), signal));
    this.#last = answer.catch(() => {});
    return unlessAborted(answer, signal);
  }
}

/** Rejects as soon as the signal aborts, whether or not the work does. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
