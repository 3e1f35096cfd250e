import { Budget } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import { newReference } from '../core/ids.ts';
import { prompt } from '../core/prompts.ts';
import { forkHistory } from '../session/fork.ts';
import type { SessionHost } from '../session/host.ts';
import { Session } from '../session/session.ts';
import type { OpenTurn } from '../session/thread.ts';
import { Thread } from '../session/thread.ts';
import { type TurnInput, type TurnResult, turnResult } from '../session/turn-result.ts';
import type { Skill, SkillBody } from '../skills/types.ts';
import type { Tool } from '../tools/define-tool.ts';
import type { Admission, Admitted } from './admission.ts';
import { limitsOf, spentIn } from './child-budget.ts';
import { planChild } from './child-plan.ts';
import { withInputs } from './inputs.ts';
import type { LiveSession, LiveSessions } from './live.ts';
import { findReference } from './references.ts';
import type { ChildResult } from './result-text.ts';

export interface ChildRequest {
  parent: LiveSession;
  /** The tool call that asks: the child is found by it after a crash. */
  call: string;
  skill: Skill;
  body: SkillBody;
  task: string;
  continueFrom?: string | undefined;
  forkFrom?: string | undefined;
  inputsFrom?: readonly string[] | undefined;
  signal: AbortSignal;
  /** The call may have started a child before a crash. */
  recovering: boolean;
}

/** What the runtime decides for children. */
export interface RunnerOptions {
  host: SessionHost;
  live: LiveSessions;
  admission: Admission;
  /** Workspace and other tools that a session in this folder can have, before it is narrowed. */
  tools(cwd: string): readonly Tool[];
  chooseModel(skill: Skill, parent: EventOf<'session.started'>['model']): Promise<EventOf<'session.started'>['model']>;
  /** Model calls of a child whose skill sets no limit of its own, and who says so. */
  childSteps: { limit: number; setBy: string };
}

/** Runs children: starts, continues, forks and, after a crash, finds them again. */
export class SubagentRunner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** @throws ReasonixError when the child cannot start; once it runs, every end is a result. */
  async run(request: ChildRequest): Promise<ChildResult> {
    const found = request.recovering ? await this.#startedBy(request) : undefined;
    if (!found) return this.#start(request);
    if (found.turn) return this.#enter(request, () => this.#open(found), undefined, found.turn);
    if (isFrom(found.ended?.from, request)) return this.#finished(found, request.parent);
    // It was made and then cut before its task was logged.
    const { task, inputsFrom = [], parent, call } = request;
    const content = await withInputs(this.#options.host.store, task, inputsFrom, parent.session.info.root);
    const origin = found.messages.length > 0 ? 'continuation' : 'task';
    return this.#enter(request, () => this.#open(found), {
      origin,
      content,
      from: { session: parent.session.id, call },
    });
  }

  async #start(request: ChildRequest): Promise<ChildResult> {
    const { parent, call, continueFrom, forkFrom, inputsFrom = [] } = request;
    const { store } = this.#options.host;
    const { root } = parent.session.info;
    const from = { session: parent.session.id, call };
    const content = await withInputs(store, request.task, inputsFrom, root);
    if (!continueFrom && !forkFrom) {
      return this.#enter(request, (budget) => this.#create(request, budget), { origin: 'task', content, from });
    }
    const reference = continueFrom ?? forkFrom ?? '';
    const { thread, isAncestral } = await findReference(store, reference, root);
    const actual = thread.started?.skill?.name ?? '';
    if (actual !== request.skill.name) {
      throw new ReasonixError(
        'reference_skill',
        prompt('reference-skill', { reference, actual, wanted: request.skill.name }),
      );
    }
    if (!forkFrom && this.#options.host.leases.holds(reference)) {
      throw new ReasonixError('reference_busy', prompt('reference-busy', { reference }));
    }
    if (forkFrom || isAncestral) {
      return this.#enter(request, (budget) => this.#create(request, budget, thread), {
        origin: 'continuation',
        content,
        from,
      });
    }
    const edited = thread.started?.skill?.hash !== request.body.hash;
    const note = edited ? `\n\n${prompt('body-changed', { skill: actual })}` : '';
    return this.#enter(request, () => this.#reopen(thread), { origin: 'continuation', content: content + note, from });
  }

  /** The one way in, for every kind of child. */
  async #enter(
    request: ChildRequest,
    make: (budget: Budget) => Promise<Session>,
    input: TurnInput | undefined,
    cut?: OpenTurn,
  ): Promise<ChildResult> {
    const { parent, skill, signal } = request;
    const { admission, live } = this.#options;
    admission.check(parent);
    const budget = this.#budget(request, cut);
    const admitted: Admitted = await admission.enter(parent, signal);
    try {
      const session = await make(budget);
      live.set(session.id, { session, budget, slot: admitted.slot });
      try {
        const turn = await session.run(input, { budget, signal });
        return { reference: session.id, skill: skill.name, turn };
      } finally {
        live.delete(session.id);
      }
    } finally {
      await admitted.leave();
    }
  }

  /** `cut` is the turn that goes on: what it has used counts again, here and above. */
  #budget({ parent, skill }: ChildRequest, cut: OpenTurn | undefined): Budget {
    const { limits, setBy } = limitsOf(skill, this.#options.childSteps);
    return new Budget(limits, { parent: parent.budget, setBy, spent: cut && spentIn(cut) });
  }

  async #create(request: ChildRequest, budget: Budget, source?: Thread): Promise<Session> {
    const { parent, call, skill, body, task } = request;
    const { host } = this.#options;
    const plan = await planChild({
      reference: newReference(),
      parent,
      call,
      skill,
      body,
      task,
      tools: this.#options.tools(parent.session.info.cwd),
      model: await this.#options.chooseModel(skill, parent.session.started.model),
      isDeepest: budget.depthLeft() === 0,
    });
    if (!source) return Session.create(host, plan);
    const events = await host.store.read(source.session);
    return Session.create(host, {
      ...plan,
      history: forkHistory(source.session, events),
      forkedFrom: { session: source.session, seq: source.lastSeq },
    });
  }

  #open(thread: Thread): Promise<Session> {
    return Session.open(this.#options.host, thread, this.#options.tools(thread.started?.cwd ?? ''));
  }

  /** For a continuation: a turn that was cut is closed, since the parent has gone on without it. */
  async #reopen(thread: Thread): Promise<Session> {
    const session = await this.#open(thread);
    try {
      await session.claim();
    } catch (error) {
      if (!ReasonixError.isInstance(error, 'session_busy')) throw error;
      throw new ReasonixError('reference_busy', prompt('reference-busy', { reference: session.id }), { cause: error });
    }
    await session.abandonTurn('interrupted before it had an answer');
    return session;
  }

  /** The child that this very call started or continued before a crash. */
  async #startedBy(request: ChildRequest): Promise<Thread | undefined> {
    const { parent, call, continueFrom } = request;
    const { store } = this.#options.host;
    if (continueFrom) {
      const events = await store.read(continueFrom);
      const continued = events.some((event) => event.type === 'user.message' && isFrom(event.from, request));
      if (continued) return Thread.fold(continueFrom, events);
    }
    const { sessions } = await store.list({ parent: { session: parent.session.id, call } }, { limit: 1 });
    const child = sessions[0]?.session;
    return child === undefined ? undefined : Thread.fold(child, await store.read(child));
  }

  /** Its turn ended before the crash, and its parent's log does not say yet what it cost. */
  #finished(thread: Thread, parent: LiveSession): ChildResult {
    const { lastTurn, ended, started } = thread;
    if (!lastTurn) throw new Error(`session ${thread.session} has no ended turn`);
    const turn: TurnResult = turnResult(lastTurn, ended);
    if (ended) {
      const { tokens, cost, spawns } = spentIn(ended);
      parent.budget.charge({ tokens, cost, spawns: spawns + 1 });
    }
    return { reference: thread.session, skill: started?.skill?.name ?? '', turn };
  }
}

const isFrom = (from: { session: string; call: string } | undefined, { parent, call }: ChildRequest): boolean =>
  from?.session === parent.session.id && from.call === call;

/** What the call costs the parent: logged once, together with the call's result. */
export function usageEvent(call: string, { reference, turn }: ChildResult): EventOf<'usage'> {
  const { usage, cost, steps, childSteps, spawns } = turn;
  const event: EventOf<'usage'> = {
    type: 'usage',
    call,
    child: reference,
    usage: usage.total,
    steps: steps + childSteps,
    spawns: spawns + 1,
  };
  return cost.total === undefined ? event : { ...event, cost: cost.total };
}
