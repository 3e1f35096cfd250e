import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, ReasonixError } from '../core/errors.ts';
import type { Limits } from '../core/limits.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SessionRun } from '../runtime/session-run.ts';
import type { SkillLibrary } from '../skills/types.ts';
import { findSession } from './find-session.ts';
import { HttpProblem } from './problem.ts';

/** How long an answer waits for the message of its turn to be logged, in milliseconds. */
const BEGIN = 5_000;
/** How long it waits to hear that a turn that is open already cannot go on. */
const GO_ON = 300;

export interface Terms {
  model?: string | undefined;
  limits?: Limits | undefined;
}

interface Driven {
  controller: AbortController;
  /** Something of the turn is in the log: from then on the log says whether it has ended. */
  isLogged: boolean;
  /** Settles when the turn is over, which is a moment after its end is in the log. */
  over: Promise<void>;
}

/** The turns that were begun by requests. They go on when whoever asked is gone. */
export class Runs {
  readonly #runtime: Runtime;
  readonly #onProblem: (text: string) => void;
  readonly #driven = new Map<string, Driven>();

  constructor(runtime: Runtime, onProblem: (text: string) => void) {
    this.#runtime = runtime;
    this.#onProblem = onProblem;
  }

  /** Turns of requests that have not ended. */
  get running(): number {
    return this.#driven.size;
  }

  /** Whether workers run the turns, so that they go on without this process. */
  get areElsewhere(): boolean {
    return this.#runtime.config.engine.url !== undefined;
  }

  /** Starts a session and gives its id. With `skill` the task is its arguments. */
  async create({ task, skill, model, limits }: Terms & { task: string; skill?: string | undefined }): Promise<string> {
    const name = skill === undefined ? undefined : skillToRun(await this.#runtime.library(), skill);
    const handle = await this.#runtime.session({ model });
    await this.#drive(handle.id, BEGIN, async ({ signal }) =>
      name === undefined
        ? handle.send(task, { signal, limits })
        : handle.runSkill({ name, arguments: task || undefined }, { signal, limits }),
    );
    return handle.id;
  }

  /** @throws ReasonixError `session_not_found`; `session_busy` while a turn runs. */
  async send(id: string, text: string, { model, limits }: Terms): Promise<void> {
    await this.#drive(id, BEGIN, async ({ signal }) => {
      const { status, holder } = await findSession(this.#runtime.store, id);
      if (status === 'open' && (holder !== undefined || this.areElsewhere)) throw busy(id);
      const handle = await this.#runtime.session({ resume: id, model });
      return handle.send(text, { signal, limits });
    });
  }

  /** Goes on with a turn that was cut. @throws HttpProblem 409 when there is none. */
  async resume(id: string, { model, limits }: Terms): Promise<void> {
    await this.#drive(id, GO_ON, async ({ signal }) => {
      const { status, holder } = await findSession(this.#runtime.store, id);
      if (status !== 'open') throw notOpen(id, `POST /api/v1/sessions/${id}/messages goes on with it`);
      if (holder !== undefined && !this.areElsewhere) throw busy(id);
      const handle = await this.#runtime.session({ resume: id, model });
      return handle.resume({ signal, limits });
    });
  }

  /** Ends a turn, also one that was cut or that workers run. @throws HttpProblem 409 when none is open. */
  async cancel(id: string): Promise<void> {
    const reason = new ReasonixError('cancelled', 'cancelled over HTTP');
    const driven = this.#driven.get(id);
    const { status, holder, root } = await findSession(this.#runtime.store, id);
    if (driven && (status === 'open' || !driven.isLogged)) return driven.controller.abort(reason);
    if (status !== 'open') throw notOpen(id);
    if (holder !== undefined && !this.areElsewhere) {
      const hint = this.#driven.has(root)
        ? `cancel the whole tree: POST /api/v1/sessions/${root}/cancel`
        : 'end it there';
      throw busy(id, hint);
    }
    await this.#drive(id, GO_ON, async (controller) => {
      controller.abort(reason);
      const handle = await this.#runtime.session({ resume: id });
      return handle.resume({ signal: controller.signal });
    });
  }

  /** Cancels what this process runs, and waits for its end; what workers run goes on. */
  async close(patience: number): Promise<void> {
    if (this.areElsewhere) return;
    const driven = [...this.#driven.values()];
    for (const { controller } of driven) controller.abort(new ReasonixError('cancelled', 'the server was stopped'));
    await Promise.race([Promise.all(driven.map(({ over }) => over)), delay(patience, undefined, { ref: false })]);
  }

  async #drive(
    id: string,
    patience: number,
    begin: (controller: AbortController) => Promise<SessionRun>,
  ): Promise<void> {
    await this.#free(id);
    const controller = new AbortController();
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const driven: Driven = { controller, isLogged: false, over };
    this.#driven.set(id, driven);
    const leave = () => {
      this.#driven.delete(id);
      end();
    };
    let run: SessionRun;
    try {
      run = await begin(controller);
    } catch (error) {
      leave();
      throw error;
    }
    let isAnswered = false;
    run.result
      .catch((error: unknown) => {
        if (isAnswered) this.#onProblem(`the turn of ${id} cannot go on: ${messageOf(error)}`);
      })
      .finally(leave);
    const logged = firstEvent(run).then(() => {
      driven.isLogged = true;
    });
    logged.catch(() => {});
    await Promise.race([run.result, logged, delay(patience, undefined, { ref: false })]);
    isAnswered = true;
  }

  /** @throws ReasonixError `session_busy` while a turn runs; one whose end is logged is waited for, who saw it may go on. */
  async #free(id: string): Promise<void> {
    const driven = this.#driven.get(id);
    if (!driven) return;
    const { status } = await findSession(this.#runtime.store, id);
    if (!driven.isLogged || status === 'open') throw busy(id);
    await driven.over;
    if (this.#driven.has(id)) throw busy(id);
  }
}

/** Resolves when something was logged in the session of a run. */
async function firstEvent(run: SessionRun): Promise<void> {
  for await (const { kind, session } of run) if (kind === 'event' && session === run.session) return;
}

/** @throws ReasonixError `skill_not_found`, `skill_refused`. */
function skillToRun(library: SkillLibrary, name: string): string {
  const lookup = library.find(name);
  if (lookup.status === 'found') {
    if (lookup.skill.userInvocable) return lookup.skill.name;
    throw new ReasonixError('skill_refused', `the skill ${name} says that users cannot start it`, {
      hint: 'ask for it in the task instead',
    });
  }
  const names = lookup.status === 'unknown' ? lookup.nearest : lookup.status === 'ambiguous' ? lookup.names : [];
  const near = names.length > 0 ? `; there is ${names.join(', ')}` : '';
  const what = lookup.status === 'disabled' ? 'is disabled' : 'is not known';
  throw new ReasonixError('skill_not_found', `the skill ${JSON.stringify(name)} ${what}${near}`, {
    hint: 'GET /api/v1/skills lists those that can be run',
  });
}

const busy = (id: string, hint = 'follow its events until turn.ended, or cancel it'): ReasonixError =>
  new ReasonixError('session_busy', `session ${id} is in the middle of a turn`, { hint });

const notOpen = (id: string, hint?: string): HttpProblem =>
  new HttpProblem(409, 'not_open', `session ${id} has no turn that is open`, hint);
