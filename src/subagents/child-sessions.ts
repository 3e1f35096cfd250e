import type { Budget } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import { referenceOf } from '../core/ids.ts';
import { prompt } from '../core/prompts.ts';
import { forkHistory } from '../session/fork.ts';
import type { SessionHost } from '../session/host.ts';
import { canReadOn } from '../session/left-out.ts';
import { joined, narrowedBy } from '../session/narrowed.ts';
import { Session } from '../session/session.ts';
import type { OpenTurn, Thread } from '../session/thread.ts';
import type { TurnInput } from '../session/turn-result.ts';
import { answerCheck } from '../skills/output-schema.ts';
import type { Skill, SkillBody } from '../skills/types.ts';
import type { Tool } from '../tools/define-tool.ts';
import { changedSince } from './changed-since.ts';
import { type EndedChild, isFrom, readChild } from './child-log.ts';
import { planChild } from './child-plan.ts';
import { withInputs } from './inputs.ts';
import type { Isolation } from './isolation.ts';
import type { LiveSession } from './live.ts';
import { findReference } from './references.ts';

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

/** How a request becomes a session with a turn, once it is let in. */
export interface ChildStart {
  make(budget: Budget): Promise<ReadyChild>;
  cut?: OpenTurn | undefined;
  /** The log of the child that goes on. */
  log?: Thread | undefined;
}

export interface ChildSessionsOptions {
  host: SessionHost;
  /** Workspace and other tools that a session in this folder can have, before it is narrowed. */
  tools(cwd: string, library?: string): readonly Tool[];
  isolation: Isolation;
  /** Children are told that only their last message returns, and where they work. */
  hasNotice: boolean;
  chooseModel(skill: Skill, parent: EventOf<'session.started'>['model']): Promise<EventOf<'session.started'>['model']>;
}

/** A child's session, and the message that its turn begins with: none for a turn that was cut and goes on. */
export interface ReadyChild {
  session: Session;
  input?: TurnInput | undefined;
}

interface NewChild {
  reference: string;
  /** The child that this one is a copy of. */
  source?: Thread | undefined;
  worktree?: EventOf<'worktree.started'> | undefined;
}

/** The sessions of children: made new, copied, continued and, after a crash, found again. */
export class ChildSessions {
  readonly #options: ChildSessionsOptions;

  constructor(options: ChildSessionsOptions) {
    this.#options = options;
  }

  /**
   * What a request asks for: a session to make or to open, or the end that it came to before a crash.
   * @throws ReasonixError for a reference that cannot be used, in words for a model.
   */
  async plan(request: ChildRequest): Promise<{ start: ChildStart } | { ended: EndedChild }> {
    const found = request.recovering ? await this.#startedBy(request) : undefined;
    if (!found) return { start: await this.#start(request) };
    const { thread, ended } = found;
    if (ended) return { ended };
    const { turn } = thread;
    if (turn && isFrom(turn.from, callerOf(request))) {
      const make = async () => {
        const session = await this.open(thread);
        await this.#withModel(session, request);
        return { session };
      };
      return { start: { make, cut: turn, log: thread } };
    }
    // It was made and then cut before its task was logged.
    const input = await this.#input(request, thread.messages.length > 0 ? 'continuation' : 'task', thread);
    return { start: { make: async () => ({ session: await this.#reopen(thread), input }) } };
  }

  /** The session of a log that was read into `thread`. */
  async open(thread: Thread): Promise<Session> {
    const { started } = thread;
    if (started) await this.#options.isolation.ready(started);
    return Session.open(this.#options.host, thread, ({ cwd, library }) => this.#options.tools(cwd, library));
  }

  async #start(request: ChildRequest): Promise<ChildStart> {
    const { parent, skill, continueFrom, forkFrom } = request;
    if (skill.outputSchema && !continueFrom) await answerCheck(skill.outputSchema);
    const { store, leases } = this.#options.host;
    const reference = continueFrom ?? forkFrom;
    if (reference === undefined) {
      const input = await this.#input(request, 'task');
      return { make: async (budget) => ({ session: await this.#create(request, budget), input }) };
    }
    const { thread, isAncestral } = await findReference(store, reference, parent.session.info.root);
    const actual = thread.started?.skill?.name ?? '';
    if (actual !== request.skill.name) {
      throw new ReasonixError(
        'reference_skill',
        prompt('reference-skill', { reference, actual, wanted: request.skill.name }),
      );
    }
    const input = await this.#input(request, 'continuation', forkFrom || isAncestral ? undefined : thread);
    if (forkFrom || isAncestral) {
      return { make: async (budget) => ({ session: await this.#create(request, budget, thread), input }) };
    }
    // What a background child has found comes first, or nobody would ever see it.
    const isOthers = thread.turn?.terms !== undefined && parent.session.thread.turn?.terms !== undefined;
    if (isOthers || leases.holds(reference) || parent.session.thread.background.has(reference)) throw busy(reference);
    const make = async (): Promise<ReadyChild> => {
      const session = await this.#reopen(thread);
      const notes = await this.#changes(session, request);
      return { session, input: { ...input, content: [input.content, ...notes].join('\n\n') } };
    };
    return { make };
  }

  /** What is no longer as it was when the thread began, in words for its model. */
  async #changes(session: Session, request: ChildRequest): Promise<string[]> {
    const { model } = session.started;
    const notes = changedSince(session, { skill: request.skill, hash: request.body.hash });
    const now = await this.#withModel(session, request);
    if (now !== undefined) notes.push(prompt('model-changed', { model: model.name, now }));
    return notes;
  }

  /** A thread whose model is gone goes on with the one that a new child would have; its name is the answer. */
  async #withModel(session: Session, { skill, parent }: ChildRequest): Promise<string | undefined> {
    try {
      await session.model();
      return undefined;
    } catch (error) {
      if (!ReasonixError.isInstance(error, 'model_not_found')) return undefined;
    }
    const { provider, name } = await this.#options.chooseModel(skill, parent.session.currentModel);
    session.useModel(await this.#options.host.resolveModel(provider, name));
    return name;
  }

  /** `thread` is that of a child which is there already: one that is made for its inputs can read on in them. */
  async #input(request: ChildRequest, origin: 'task' | 'continuation', thread?: Thread): Promise<TurnInput> {
    const { task, inputsFrom = [], parent } = request;
    const { root } = parent.session.info;
    const content = await withInputs(this.#options.host.store, task, inputsFrom, root, !thread || canReadOn(thread));
    // A new child takes over what its caller may do; one that goes on may have been started with more.
    const permissions = origin === 'continuation' ? joined(narrowedBy(parent.session.thread)) : undefined;
    return { origin, content, from: callerOf(request), permissions };
  }

  async #create(request: ChildRequest, budget: Budget, source?: Thread): Promise<Session> {
    const { parent, skill } = request;
    const { isolation } = this.#options;
    const reference = referenceFor(request);
    if (skill.isolation !== 'worktree') return this.#new(request, budget, { reference, source });
    const worktree = await isolation.make(reference, parent.session.info.cwd, source?.session);
    const session = await this.#new(request, budget, { reference, source, worktree }).catch(async (error: unknown) => {
      await isolation.abandon(worktree);
      throw error;
    });
    if (request.recovering) await isolation.keep(worktree);
    return session;
  }

  async #new(request: ChildRequest, budget: Budget, { reference, source, worktree }: NewChild): Promise<Session> {
    const { parent, call, skill, body, task, signal, inputsFrom = [] } = request;
    const { host, tools, hasNotice } = this.#options;
    const planned = await planChild({
      reference,
      parent,
      call,
      skill,
      body,
      task,
      tools: tools(worktree?.cwd ?? parent.session.info.cwd, parent.session.info.library),
      model: await this.#options.chooseModel(skill, parent.session.currentModel),
      isDeepest: budget.depthLeft() === 0,
      worktree,
      hasNotice,
      hasInputs: inputsFrom.length > 0,
    });
    const plan = { ...planned, signal };
    if (!source) return Session.create(host, plan);
    const events = await host.store.read(source.session);
    return Session.create(host, {
      ...plan,
      history: [...forkHistory(source.session, events), ...(plan.history ?? [])],
      forkedFrom: { session: source.session, seq: source.lastSeq },
    });
  }

  /** For a continuation: a turn that was cut is closed, since the parent has gone on without it. */
  async #reopen(thread: Thread): Promise<Session> {
    let session: Session | undefined;
    try {
      session = await this.open(thread);
      await session.claim();
      await session.abandonTurn('interrupted before it had an answer');
      return session;
    } catch (error) {
      await session?.release();
      throw ReasonixError.isInstance(error, 'session_busy') ? busy(thread.session, error) : error;
    }
  }

  /** The child that this very call started or continued before a crash. */
  async #startedBy(request: ChildRequest): Promise<ReturnType<typeof readChild> | undefined> {
    const { parent, call, continueFrom } = request;
    const { store } = this.#options.host;
    const caller = callerOf(request);
    if (continueFrom) {
      const events = await store.read(continueFrom);
      const continued = events.some((event) => event.type === 'user.message' && isFrom(event.from, caller));
      if (continued) return readChild(continueFrom, events, caller);
    }
    const { sessions } = await store.list({ parent: { session: parent.session.id, call } }, { limit: 1 });
    const child = sessions[0]?.session;
    return child === undefined ? undefined : readChild(child, await store.read(child), caller);
  }
}

/** Most items of one call that have places of their own, and calls of one session before places repeat. */
const PLACES = 1024;

/**
 * Two processes that both take a session for theirs, as one does that was stopped for a while, start one
 * child for a call all the same: the later one finds its reference taken.
 */
function referenceFor({ parent, call }: Pick<ChildRequest, 'parent' | 'call'>): string {
  const { thread } = parent.session;
  const [asked = '', item = '0'] = call.split('#');
  const place = ((thread.callIds.get(asked) ?? -1) % PLACES) * PLACES + (Number(item) % PLACES);
  return referenceOf(callerOf({ parent, call }), thread.askedAt, place);
}

const callerOf = ({ parent, call }: Pick<ChildRequest, 'parent' | 'call'>) => ({ session: parent.session.id, call });

const busy = (reference: string, cause?: unknown): ReasonixError =>
  new ReasonixError('reference_busy', prompt('reference-busy', { reference }), { cause });
