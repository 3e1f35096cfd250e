import { type Budget, LimitReached } from '../core/budget.ts';
import { describeError, isCancellation, ReasonixError } from '../core/errors.ts';
import type { EventOf, SessionEvent, StoredEvent, TurnStatus } from '../core/events.ts';
import type { ToolCall } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';
import { addUsage, noUsage, type Usage } from '../core/usage.ts';
import type { ModelDelta, ModelReply, ResolvedModel } from '../models/contract.ts';
import type { Lease, SessionStore } from '../store/contract.ts';
import type { Tool } from '../tools/define-tool.ts';
import { openingOf } from './chain.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { endAtLimit, loop, type TurnEnd } from './loop.ts';
import type { Middleware, SessionInfo } from './middleware.ts';
import { prepare } from './setup.ts';
import { addCost, type OpenTurn, Thread } from './thread.ts';
import { Turn } from './turn.ts';

/** What happens in a session, for whoever watches. Only `event` is part of the log. */
export type Observation =
  | { kind: 'event'; session: string; event: StoredEvent }
  | { kind: 'delta'; session: string; delta: ModelDelta }
  | { kind: 'progress'; session: string; call?: string | undefined; text: string };

/** What every session of a runtime shares. */
export interface SessionHost {
  readonly store: SessionStore;
  readonly leases: LeaseKeeper;
  readonly chain: readonly Middleware[];
  resolveModel(provider: string, model: string): Promise<ResolvedModel>;
  observe(observation: Observation): void;
}

/** The making of a session, as whoever starts it wants it. */
export interface SessionPlan {
  info: SessionInfo;
  /** First section of the system prompt; middleware adds its own after it. */
  system: string;
  tools: readonly Tool[];
  /** Which of the tools, after middleware added theirs, the session may have. Default all. */
  narrow?: ((names: string[]) => string[]) | undefined;
  model: EventOf<'session.started'>['model'];
  budget: EventOf<'session.started'>['budget'];
  parent?: EventOf<'session.started'>['parent'];
  permissions?: EventOf<'session.started'>['permissions'];
  outputSchema?: EventOf<'session.started'>['outputSchema'];
  forkedFrom?: EventOf<'session.started'>['forkedFrom'];
  /** History that a fork starts with. */
  history?: readonly SessionEvent[] | undefined;
}

export interface TurnInput {
  origin: 'user' | 'task' | 'continuation';
  content: string;
  from?: { session: string; call: string } | undefined;
  /** Events logged with the message, such as a skill that it loads. */
  events?: readonly SessionEvent[] | undefined;
  /** A call made by the host instead of the model; its answer is the turn's. */
  hostCall?: ToolCall | undefined;
}

export interface TurnResult {
  status: TurnStatus;
  answer: string;
  reason?: string | undefined;
  limit?: EventOf<'turn.ended'>['limit'];
  /** Model calls of this session in the turn. */
  steps: number;
  /** Own usage, and with that of all children. Costs are undefined when a price is unknown. */
  usage: { own: Usage; total: Usage };
  cost: { own: number | undefined; total: number | undefined };
  /** Steps and children started, at all levels below. */
  childSteps: number;
  spawns: number;
}

/**
 * One thread of messages with its log. A session is driven by one process at a time, the holder of
 * its lease; all changes go through `append`.
 */
export class Session {
  readonly host: SessionHost;
  readonly id: string;
  readonly info: SessionInfo;
  readonly thread: Thread;
  /** Set once an append has failed: nothing that happens after it could be kept. */
  fatal: unknown;
  readonly #tools: ReadonlyMap<string, Tool>;
  #lease: Lease | undefined;
  #appending: Promise<unknown> = Promise.resolve();
  #running = false;
  #model: Promise<ResolvedModel> | undefined;
  readonly #lost = new AbortController();

  private constructor(host: SessionHost, info: SessionInfo, thread: Thread, tools: readonly Tool[]) {
    this.host = host;
    this.id = info.session;
    this.info = info;
    this.thread = thread;
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** Starts a new session; its first event is durable when the promise resolves. */
  static async create(host: SessionHost, plan: SessionPlan): Promise<Session> {
    const thread = new Thread(plan.info.session);
    const setup = await prepare(host.chain, plan, thread, true);
    const names = plan.narrow?.(setup.tools.map((tool) => tool.name)) ?? setup.tools.map((tool) => tool.name);
    const tools = setup.tools.filter((tool) => names.includes(tool.name));
    const session = new Session(host, plan.info, thread, tools);
    const { info, model, budget, parent, permissions, outputSchema, forkedFrom } = plan;
    const started: EventOf<'session.started'> = {
      type: 'session.started',
      session: info.session,
      kind: info.kind,
      root: info.root,
      parent,
      skill: info.skill,
      forkedFrom,
      system: setup.sections.join('\n\n'),
      tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
      model,
      budget,
      depth: info.depth,
      cwd: info.cwd,
      outputSchema,
      permissions,
      required: info.required.length > 0 ? [...info.required] : undefined,
    };
    await session.claim();
    await session.append([started, ...setup.events, ...(plan.history ?? [])]);
    return session;
  }

  /** Starts a copy of a session, with the frozen prompt and the history of its source. */
  static async copy(
    host: SessionHost,
    started: EventOf<'session.started'>,
    history: readonly SessionEvent[],
    tools: readonly Tool[],
  ): Promise<Session> {
    const thread = new Thread(started.session);
    const info = infoOf({ session: started.session, started });
    const setup = await prepare(host.chain, { info, system: '', tools }, thread, false);
    const session = new Session(host, info, thread, setup.tools);
    await session.claim();
    await session.append([started, ...history]);
    return session;
  }

  /** Opens a session whose log was read into `thread`, with the tools that exist now. */
  static async open(host: SessionHost, thread: Thread, tools: readonly Tool[]): Promise<Session> {
    const info = infoOf(thread);
    const setup = await prepare(host.chain, { info, system: '', tools }, thread, false);
    return new Session(host, info, thread, setup.tools);
  }

  get started(): EventOf<'session.started'> {
    if (!this.thread.started) throw new Error(`session ${this.id} has no first event`);
    return this.thread.started;
  }

  /** What every request of the session begins with. */
  get frozen(): { system: string; tools: EventOf<'session.started'>['tools'] } {
    return this.started;
  }

  /** The tool that answers calls of this name, if the session may have it. */
  tool(name: string): Tool | undefined {
    const ours = TOOL_SYNONYMS[name] ?? name;
    return this.frozen.tools.some((definition) => definition.name === ours) ? this.#tools.get(ours) : undefined;
  }

  toolNames(): string[] {
    return this.frozen.tools.map((definition) => definition.name);
  }

  /** Asks another model from the next step on; the log keeps saying which one answered. */
  useModel(model: ResolvedModel): void {
    this.#model = Promise.resolve(model);
  }

  model(): Promise<ResolvedModel> {
    const { provider, name } = this.started.model;
    this.#model ??= this.host.resolveModel(provider, name);
    return this.#model;
  }

  /** Takes the lease, and takes in what another process has appended since the log was read. */
  async claim(): Promise<void> {
    if (this.#lease) return;
    this.#lease = await this.host.leases.claim(this.id, (error) => this.#lost.abort(error));
    if (this.thread.lastSeq === 0) return;
    for (const event of await this.host.store.read(this.id, this.thread.lastSeq)) this.thread.apply(event);
  }

  async release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    if (lease) await this.host.leases.release(lease);
  }

  /** Appends in the order of calls; resolves when the events are durable and folded in. */
  append(events: readonly SessionEvent[]): Promise<void> {
    const appended = this.#appending.then(async () => {
      if (this.fatal) throw this.fatal;
      try {
        const stored = await this.host.store.append(this.id, this.thread.lastSeq, events, this.#lease);
        for (const event of stored) {
          this.thread.apply(event);
          this.host.observe({ kind: 'event', session: this.id, event });
        }
      } catch (error) {
        this.fatal = error;
        throw error;
      }
    });
    this.#appending = appended.catch(() => {});
    return appended;
  }

  /**
   * Runs one turn to its end. A turn that was cut is finished first; without `input` that is all.
   * @throws ReasonixError of the store when the log cannot be written; everything else is a status.
   */
  async run(input: TurnInput | undefined, options: { budget: Budget; signal: AbortSignal }): Promise<TurnResult> {
    if (this.#running) {
      throw new ReasonixError('session_busy', `session ${this.id} is in the middle of a turn`, {
        hint: 'wait for its end before sending more',
      });
    }
    this.#running = true;
    try {
      await this.claim();
      const signal = AbortSignal.any([options.signal, this.#lost.signal]);
      if (this.thread.turn) {
        const result = await this.#turn(new Turn(this, { ...options, signal }), true);
        if (!input || result.status === 'cancelled') return result;
      }
      if (!input)
        throw new ReasonixError('usage', `session ${this.id} has no unfinished turn`, { hint: 'give it a task' });
      await this.#begin(input);
      return await this.#turn(new Turn(this, { ...options, signal }), false);
    } finally {
      this.#running = false;
      await this.#appending;
      await this.release();
    }
  }

  /** Ends a cut turn without finishing it, so that a new message can follow. */
  async abandonTurn(reason: string): Promise<void> {
    if (!this.thread.turn) return;
    await this.claim();
    const closed = [...this.thread.openCalls.values()].map(
      (call): SessionEvent => ({
        type: 'tool.result',
        call: call.id,
        name: call.name,
        content: prompt('interrupted-call'),
        isError: true,
      }),
    );
    const answer = this.thread.turn.lastText;
    await this.append([...closed, { type: 'turn.ended', status: 'cancelled', answer, reason }]);
  }

  async #begin(input: TurnInput): Promise<void> {
    const { origin, content, from, hostCall, events = [] } = input;
    const begun: SessionEvent[] = [...events, { type: 'user.message', origin, content, from }];
    if (hostCall) {
      begun.push({
        type: 'assistant.message',
        text: '',
        toolCalls: [hostCall],
        usage: noUsage(),
        cost: 0,
        model: 'host',
        finishReason: 'host',
      });
    }
    await this.append(begun);
  }

  async #turn(turn: Turn, cut: boolean): Promise<TurnResult> {
    let end: TurnEnd;
    try {
      end = this.thread.hostCall ? await this.#hostTurn(turn, cut) : await this.#modelTurn(turn, cut);
    } catch (error) {
      end = await this.#failed(turn, error);
    }
    const result = turnResult(end, this.thread.turn);
    await this.append([{ type: 'turn.ended', ...end }]);
    return result;
  }

  async #modelTurn(turn: Turn, cut: boolean): Promise<TurnEnd> {
    try {
      if (cut && !this.#hasNotBegun()) {
        await turn.runCalls([...this.thread.openCalls.values()], true);
        if (this.thread.turn?.limit) return await endAtLimit(turn, this.thread.turn.limit);
        return await loop(turn, this.#unansweredReply());
      }
      const opening = await openingOf(this.host.chain, turn);
      const notices = opening.notices.map(
        (content): SessionEvent => ({ type: 'user.message', origin: 'notice', content }),
      );
      if (notices.length + opening.events.length > 0) await this.append([...opening.events, ...notices]);
      return await loop(turn);
    } catch (error) {
      if (this.fatal) throw error;
      if (LimitReached.isInstance(error, 'limit')) return await endAtLimit(turn, (error as LimitReached).hit);
      const time = turn.timedOut ? turn.budget.exhausted() : undefined;
      if (time) return await endAtLimit(turn, time);
      throw error;
    }
  }

  /** A turn that the host began with a call of its own: the call's answer is the turn's. */
  async #hostTurn(turn: Turn, cut: boolean): Promise<TurnEnd> {
    await turn.runCalls([...this.thread.openCalls.values()], cut);
    if (turn.cancelled) throw turn.signal.reason;
    const last = this.thread.messages.at(-1);
    const content = last?.role === 'tool' ? last.content : '';
    const child = this.thread.children.at(-1);
    if (!child || (last?.role === 'tool' && last.isError && !content.includes(child.ref))) {
      return { status: 'failed', answer: '', reason: content };
    }
    const { lastTurn } = Thread.fold(child.ref, await this.host.store.read(child.ref));
    if (!lastTurn) return { status: 'failed', answer: '', reason: content };
    const { type: _, ...end } = lastTurn;
    return { status: end.status, answer: end.answer, reason: end.reason, limit: end.limit };
  }

  /** True when a turn was cut right after its message: nothing of it has been done. */
  #hasNotBegun(): boolean {
    return this.thread.turn?.seq === this.thread.lastSeq;
  }

  /** The model's last word, logged before the turn was cut. */
  #unansweredReply(): ModelReply | undefined {
    const last = this.thread.messages.at(-1);
    if (last?.role !== 'assistant' || last.toolCalls.length > 0) return undefined;
    return { ...last, usage: noUsage(), model: '', finishReason: 'stop' };
  }

  async #failed(turn: Turn, error: unknown): Promise<TurnEnd> {
    if (this.#lost.signal.aborted) this.fatal ??= this.#lost.signal.reason;
    if (this.fatal) throw this.fatal;
    const answer = partialText(error) || (this.thread.turn?.lastText ?? '');
    if (turn.cancelled || isCancellation(error)) {
      await turn.closeCalls(prompt('stopped-call'));
      return { status: 'cancelled', answer, reason: cancelReason(turn.signal) };
    }
    await turn.closeCalls(prompt('interrupted-call'));
    return { status: 'failed', answer, reason: describeError(error) };
  }
}

/** The result of a turn from how it ended and what was counted in it. */
export function turnResult(end: TurnEnd, turn: OpenTurn | undefined): TurnResult {
  const own = turn?.usage ?? noUsage();
  return {
    status: end.status,
    answer: end.answer,
    reason: end.reason,
    limit: end.limit,
    steps: turn?.steps ?? 0,
    usage: { own, total: addUsage(own, turn?.childUsage ?? noUsage()) },
    cost: { own: turn?.cost, total: addCost(turn?.cost, turn?.childCost) },
    childSteps: turn?.childSteps ?? 0,
    spawns: turn?.spawns ?? 0,
  };
}

/** What other products call our tools; such calls are answered by the same code. */
const TOOL_SYNONYMS: Readonly<Record<string, string>> = { InvokeSkill: 'run_skill', SearchSkills: 'search_skills' };

function infoOf(thread: Pick<Thread, 'session' | 'started'>): SessionInfo {
  const { started } = thread;
  if (!started) {
    throw new ReasonixError('session_not_found', `there is no session ${thread.session}`, {
      hint: 'list them with: reasonix session list',
    });
  }
  return {
    session: started.session,
    kind: started.kind,
    root: started.root,
    depth: started.depth,
    cwd: started.cwd,
    skill: started.skill,
    required: started.required ?? [],
    inherit: [],
  };
}

/** What a stream had brought before it broke for good. */
function partialText(error: unknown): string {
  const text = ReasonixError.isInstance(error) ? error.details.partialText : undefined;
  return typeof text === 'string' ? text : '';
}

function cancelReason(signal: AbortSignal): string {
  const { reason } = signal;
  return reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'cancelled';
}
