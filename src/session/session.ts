import { ReasonixError } from '../core/errors.ts';
import type { EventOf, SessionEvent } from '../core/events.ts';
import { linkSignals } from '../core/linked-signal.ts';
import { prompt } from '../core/prompts.ts';
import { wellFormed } from '../core/text.ts';
import { toolAlias } from '../core/tool-names.ts';
import { noUsage } from '../core/usage.ts';
import type { ResolvedModel } from '../models/contract.ts';
import type { Lease } from '../store/contract.ts';
import type { Tool } from '../tools/define-tool.ts';
import { AppendQueue, type Wanted } from './append-queue.ts';
import type { SessionHost, SessionPlan } from './host.ts';
import type { SessionInfo } from './middleware.ts';
import { closingResults } from './open-calls.ts';
import { runTurn } from './run-turn.ts';
import { prepare } from './setup.ts';
import { infoOf, startedEvent, startOf } from './started.ts';
import { Thread } from './thread.ts';
import { Turn, type TurnOptions } from './turn.ts';
import type { Terms, TurnInput, TurnResult } from './turn-result.ts';

/** Any long time, in milliseconds: that a timer runs is what counts. */
const AWAKE_INTERVAL = 60_000;

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
  readonly #appends = new AppendQueue({
    write: (events) => this.#write(events),
    fatal: () => this.fatal,
    failed: (error) => {
      this.fatal ??= error;
    },
  });
  #running = false;
  readonly #readers = new Set<() => void>();
  #model: Promise<ResolvedModel> | undefined;
  #chosen: EventOf<'session.started'>['model'] | undefined;
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
    const narrow = (names: string[]) =>
      (plan.narrow?.(names) ?? names).filter((name) => host.isOffered?.(name) ?? true);
    const setup = await prepare(host.chain, { ...plan, narrow }, thread, true);
    const names = narrow(setup.tools.map((tool) => tool.name));
    const tools = setup.tools.filter((tool) => names.includes(tool.name));
    const session = new Session(host, plan.info, thread, tools);
    const started = startedEvent(plan, setup.sections.join('\n\n'), tools);
    await session.#start([started, ...setup.events, ...(plan.history ?? [])]);
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
    const info = infoOf(started, host);
    const setup = await prepare(host.chain, { info, system: '', tools }, thread, false);
    const session = new Session(host, info, thread, setup.tools);
    await session.#start([started, ...history]);
    return session;
  }

  /** Opens a session whose log was read into `thread`, with the tools that exist now. */
  static async open(
    host: SessionHost,
    thread: Thread,
    toolsOf: (info: SessionInfo) => readonly Tool[],
  ): Promise<Session> {
    const info = infoOf(startOf(thread), host);
    const setup = await prepare(host.chain, { info, system: '', tools: toolsOf(info) }, thread, false);
    return new Session(host, info, thread, setup.tools);
  }

  get started(): EventOf<'session.started'> {
    return startOf(this.thread);
  }

  /** What every request of the session begins with. */
  get frozen(): { system: string; tools: EventOf<'session.started'>['tools'] } {
    return this.started;
  }

  /** The tool that answers calls of this name, if the session may have it. */
  tool(name: string): Tool | undefined {
    const ours = toolAlias(name);
    return this.frozen.tools.some((definition) => definition.name === ours) ? this.#tools.get(ours) : undefined;
  }

  /** Tools of the frozen prompt that nothing answers any more, as after a server or a program of the user's went. */
  missingTools(): string[] {
    return this.toolNames().filter((name) => !this.#tools.has(name));
  }

  toolNames(): string[] {
    return this.frozen.tools.map((definition) => definition.name);
  }

  /** Asks another model from the next step on; the log keeps saying which one answered. */
  useModel(model: ResolvedModel): void {
    this.#model = Promise.resolve(model);
    this.#chosen = { ...this.started.model, provider: model.provider, name: model.model };
  }

  /** The model that is asked now: what children inherit. */
  get currentModel(): EventOf<'session.started'>['model'] {
    return this.#chosen ?? { ...this.started.model, ...this.thread.turn?.terms?.model };
  }

  model(): Promise<ResolvedModel> {
    const { provider, name } = this.currentModel;
    this.#model ??= this.host.resolveModel(provider, name).catch((error: unknown) => {
      if (!ReasonixError.isInstance(error, 'model_not_found')) throw error;
      throw new ReasonixError(
        'model_not_found',
        `the model ${provider}/${name} of ${this.id} is no longer configured`,
        {
          hint: 'go on with another one: --model NAME',
          cause: error,
        },
      );
    });
    return this.#model;
  }

  /** Takes the lease, and takes in what another process has appended since the log was read. */
  async claim(): Promise<void> {
    if (this.#lease) return;
    this.#lease = await this.host.leases.claim(this.id, (error) => {
      this.fatal ??= error;
      this.#lost.abort(error);
    });
    if (this.thread.lastSeq === 0) return;
    try {
      await this.catchUp();
    } catch (error) {
      // Renewed for as long as this process lives, it would keep everybody else out.
      await this.release().catch(() => {});
      throw error;
    }
  }

  /** Takes in what others have appended since the log was read, without taking the lease. */
  async catchUp(): Promise<void> {
    const events = await this.host.store.read(this.id, this.thread.lastSeq, { whole: true });
    for (const event of events) this.thread.apply(event);
  }

  /** Takes the lease of a session that does not exist yet, and keeps it only when its log could be begun. */
  async #start(events: readonly SessionEvent[]): Promise<void> {
    await this.claim();
    try {
      await this.append(events);
    } catch (error) {
      await this.release().catch(() => {});
      throw error;
    }
  }

  async release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    if (lease) await this.host.leases.release(lease);
  }

  /**
   * Before anything that costs and leaves no trace: a process that was stopped may have lost the session.
   * @throws ReasonixError `stale_writer` when somebody else has it.
   */
  async assureLease(): Promise<void> {
    if (this.#lease) await this.host.leases.assure(this.#lease);
    if (this.fatal) throw this.fatal;
  }

  /**
   * Appends in the order of calls; resolves when the events are durable and folded in. A function is
   * asked once everything before it is folded in, so that it decides on what the thread is then; the
   * promise is false when it gives nothing.
   */
  append(events: Wanted): Promise<boolean> {
    return this.#appends.add(events);
  }

  async #write(events: readonly SessionEvent[]): Promise<void> {
    const stored = await this.host.store.append(this.id, this.thread.lastSeq, events, this.#lease);
    for (const event of stored) {
      this.thread.apply(event);
      this.host.observe({ kind: 'event', session: this.id, event });
    }
    if (stored.some(({ type }) => type === 'message.received')) for (const tell of this.#readers) tell();
  }

  /** Calls `listener` after each message that arrives in the inbox. Returns the way to stop. */
  onMessage(listener: () => void): () => void {
    this.#readers.add(listener);
    return () => void this.#readers.delete(listener);
  }

  /**
   * Runs one turn to its end. A turn that was cut is finished first; without `input` that is all.
   * @throws ReasonixError of the store when the log cannot be written, `Parked` for a turn that waits for
   * others or was asked to leave; everything else is a status.
   */
  async run(input: TurnInput | undefined, options: TurnOptions): Promise<TurnResult> {
    if (this.#running) {
      throw new ReasonixError('session_busy', `session ${this.id} is in the middle of a turn`, {
        hint: 'wait for its end before sending more',
      });
    }
    this.#running = true;
    const linked = linkSignals([options.signal, this.#lost.signal]);
    // A tool or a model may wait for something that holds nothing open: the process must not end under it.
    const awake = setInterval(() => {}, AWAKE_INTERVAL);
    try {
      const { signal } = linked;
      const lose = () => {
        // Whoever takes the tree over goes on where the log ends: an end must not be written into it.
        if (ReasonixError.isInstance(signal.reason, 'stale_writer')) this.fatal ??= signal.reason;
      };
      if (signal.aborted) lose();
      else signal.addEventListener('abort', lose);
      await this.claim();
      if (this.thread.turn) {
        const result = await runTurn(this, new Turn(this, { ...options, signal }), true);
        if (!input || result.status === 'cancelled') return result;
      }
      if (!input)
        throw new ReasonixError('usage', `session ${this.id} has no unfinished turn`, { hint: 'give it a task' });
      await this.begin(input);
      return await runTurn(this, new Turn(this, { ...options, signal }), false);
    } finally {
      this.#running = false;
      clearInterval(awake);
      linked.unlink();
      await this.#appends.settled();
      await this.release();
    }
  }

  /** Ends a cut turn without finishing it, so that a new message can follow. */
  async abandonTurn(reason: string): Promise<void> {
    if (!this.thread.turn) return;
    await this.claim();
    const calls = [...this.thread.openCalls.keys()];
    const ended = await this.host.background?.closeCalls(this, calls, reason);
    const closed = closingResults(this.thread, prompt('interrupted-call'), ended);
    const delivered = (await this.host.background?.close(this, reason)) ?? [];
    const answer = this.thread.turn.lastText;
    await this.append([...closed, ...delivered, { type: 'turn.ended', status: 'cancelled', answer, reason }]);
  }

  /** Logs the message of a turn that `run` without input carries out then, in this process or another. */
  async begin(input: TurnInput): Promise<void> {
    await this.claim();
    const { origin, content, from, permissions, hostCall, terms, events = [] } = input;
    if (from && this.thread.callers.has(`${from.session} ${from.call}`)) {
      throw new ReasonixError('session_busy', `session ${this.id} was given this task by another process before`, {
        hint: 'stop: whoever holds the parent now goes on with both',
      });
    }
    const message = {
      type: 'user.message' as const,
      origin,
      content: wellFormed(content),
      from,
      permissions,
      terms: terms && this.#withModel(terms),
    };
    const begun: SessionEvent[] = [...events, message];
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

  /** Whoever runs the turn asks the model that was chosen here. */
  #withModel(terms: Terms): Terms {
    if (!this.#chosen) return terms;
    const { provider, name } = this.#chosen;
    return { ...terms, model: { provider, name } };
  }
}
