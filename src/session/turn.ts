import { type Budget, type LimitHit, limitText } from '../core/budget.ts';
import { describeError, isCancellation } from '../core/errors.ts';
import type { EventOf, SessionEvent } from '../core/events.ts';
import { newCallId } from '../core/ids.ts';
import { type LinkedSignal, linkSignals } from '../core/linked-signal.ts';
import type { ToolCall } from '../core/messages.ts';
import { prompt } from '../core/prompts.ts';
import { clipStart, wellFormed } from '../core/text.ts';
import type { ModelReply } from '../models/contract.ts';
import { costOfReply } from '../models/prices.ts';
import type { Tool, ToolContext, ToolEffects, ToolOutcome } from '../tools/define-tool.ts';
import { boundedImages } from '../tools/images.ts';
import type { BackgroundChildren } from './background.ts';
import { composeModel, composeTool, shapedEnd, verdictOf } from './chain.ts';
import type { TurnEnd } from './loop.ts';
import type { NextModel, NextTool, SessionInfo, ToolRun, TurnVerdict, TurnView } from './middleware.ts';
import { closingResults } from './open-calls.ts';
import { schedule } from './scheduler.ts';
import type { Session } from './session.ts';
import type { Thread } from './thread.ts';

/** How long a tool may take to clean up after it was told to stop, in milliseconds. */
const STOP_GRACE = 5_000;

/** Time for the summing-up when the time limit itself was reached, in milliseconds. */
const SUMMARY_GRACE = 20_000;

/** Most characters of a text that says why a call was not run or how it failed. */
const LONGEST_PROBLEM = 8_000;

/** A call that is ready to run, or one that is answered without running anything. */
type Prepared =
  | { kind: 'ready'; call: ToolCall; effects: ToolEffects; tool: Tool; input: unknown }
  | { kind: 'answered'; call: ToolCall; effects: 'read'; outcome: ToolOutcome };

/** The steps that the loop is made of, over one turn of one session. */
export class Turn implements TurnView {
  readonly info: SessionInfo;
  readonly thread: Thread;
  readonly budget: Budget;
  readonly signal: AbortSignal;
  readonly #session: Session;
  readonly #outer: AbortSignal;
  readonly #linked: LinkedSignal;
  readonly #askChain: NextModel;
  readonly #toolChain: NextTool;
  readonly #children: BackgroundChildren | undefined;

  constructor(session: Session, options: { budget: Budget; signal: AbortSignal }) {
    this.#session = session;
    this.info = session.info;
    this.thread = session.thread;
    this.budget = options.budget;
    this.#outer = options.signal;
    this.#linked = linkSignals([options.signal], this.budget.remainingTime());
    this.signal = this.#linked.signal;
    this.#children = session.host.background?.of(session, this.signal);
    const { chain } = session.host;
    this.#askChain = composeModel(chain, (call) =>
      call.model.client.generate(call.request, {
        signal: call.signal,
        onDelta: (delta) => session.host.observe({ kind: 'delta', session: session.id, delta }),
      }),
    );
    this.#toolChain = composeTool(chain, (run) => this.#start(run));
  }

  progress(text: string): void {
    this.#session.host.observe({ kind: 'progress', session: this.info.session, text });
  }

  append(events: readonly SessionEvent[]): Promise<unknown> {
    return this.#session.append(events);
  }

  /** One model call, logged before anything it asked for happens. */
  async ask(): Promise<ModelReply> {
    this.#outer.throwIfAborted();
    await this.#takeIn();
    return this.#log(await this.#askChain(await this.#modelCall('auto', this.signal, false)));
  }

  /** The last call after a limit: the tools stay in the prompt, calling them is forbidden. */
  async sumUp(hit: LimitHit): Promise<string> {
    const before = this.thread.turn?.lastText ?? '';
    if (!this.thread.turn?.limit) {
      const content = prompt('limit-reached', { which: hit.which, limit: limitText(hit) });
      await this.append([{ type: 'user.message', origin: 'notice', content, limit: hit }]);
    }
    const last = linkSignals([this.#outer], hit.which === 'time' ? SUMMARY_GRACE : undefined);
    try {
      const reply = await this.#askChain(await this.#modelCall('none', last.signal, true));
      const logged = await this.#log({ ...reply, toolCalls: [] });
      return logged.text.trim() === '' ? before : logged.text;
    } catch (error) {
      if (this.#session.fatal || this.#outer.aborted) throw error;
      return before;
    } finally {
      last.unlink();
    }
  }

  /**
   * Runs calls by the barrier rule; each result is logged as it comes. After a crash, a write that had
   * begun is not repeated: nobody knows whether it took effect.
   */
  async runCalls(calls: readonly ToolCall[], recovering = false): Promise<void> {
    const prepared = calls.map((call) =>
      recovering ? (this.#interrupted(call) ?? this.#prepare(call)) : this.#prepare(call),
    );
    await schedule(prepared, (item) => this.#answer(item, recovering));
  }

  /** The chain's word on whether the turn may end with what the model said last. */
  async verdict(reply: ModelReply): Promise<TurnVerdict> {
    if (reply.text.trim() === '' && (this.thread.turn?.emptyNudges ?? 0) <= 1) {
      return { kind: 'continue', origin: 'nudge', message: prompt('nudge-empty') };
    }
    return verdictOf(this.#session.host.chain, this);
  }

  /** The end with its answer in the form that the chain gives it. */
  shaped(end: TurnEnd): Promise<TurnEnd> {
    return shapedEnd(this.#session.host.chain, this, end);
  }

  /** Gives every call that is still open a result, so that the history stays one a provider takes. */
  async closeCalls(text: string): Promise<void> {
    const results = closingResults(this.thread, text);
    if (results.length > 0) await this.append(results);
  }

  /** Lets children go on that ran beside the turn when it was cut. */
  launchChildren(): void {
    this.#children?.launch();
  }

  /**
   * Waits for the children that run beside the turn, or ends them where the host says so. True when
   * something came in that the model has not seen, so that the turn cannot end with what it said last.
   */
  async takeInAll(): Promise<boolean> {
    if (await this.#takeIn()) return true;
    if (!this.#children || this.thread.background.size === 0) return false;
    if (this.#session.host.background?.atEnd === 'cancel') {
      await this.stopChildren(prompt('parent-ended'));
      return false;
    }
    await this.#children.settled(this.signal);
    return this.#takeIn();
  }

  /** Ends the children that run beside the turn, and takes in what they have. */
  async stopChildren(reason: string): Promise<void> {
    await this.#children?.stop(reason);
    await this.#takeIn();
  }

  /** Logs the end of the turn; false, and nothing is logged, when there is a message that its answer does not know. */
  end(end: TurnEnd): Promise<boolean> {
    const isAnswered = end.status === 'completed' || end.status === 'no_answer';
    return this.#session.append(() =>
      isAnswered && this.thread.inbox.length > 0 ? [] : [{ type: 'turn.ended', ...end }],
    );
  }

  /** Ends the turn's clock, and whatever of its children still runs. */
  async close(): Promise<void> {
    await this.#children?.halt();
    this.#linked.unlink();
  }

  /** Messages to the session, then results of children, in one piece: each is in the thread once. */
  #takeIn(): Promise<boolean> {
    return this.#session.append(() => {
      const messages = this.thread.inbox.map(
        ({ from, content }): SessionEvent => ({ type: 'user.message', origin: 'notice', content, from }),
      );
      return [...messages, ...(this.#children?.deliveries() ?? [])];
    });
  }

  /** True when the turn ran out of time of its own, and nobody cancelled it. */
  get timedOut(): boolean {
    return this.signal.aborted && !this.#outer.aborted;
  }

  get cancelled(): boolean {
    return this.#outer.aborted;
  }

  async #modelCall(toolChoice: 'auto' | 'none', signal: AbortSignal, isLast: boolean) {
    const model = await this.#session.model();
    const { system, tools } = this.#session.frozen;
    const { effort } = this.#session.started.model;
    const request = {
      tools,
      system,
      messages: this.thread.history(),
      model: model.model,
      toolChoice,
      effort,
      session: this.info.session,
      skill: this.info.skill?.name,
    };
    return { turn: this, request, model, signal, isLast };
  }

  async #log(reply: ModelReply): Promise<ModelReply> {
    const model = await this.#session.model();
    const taken = new Set<string>();
    const clean: ModelReply = {
      ...reply,
      text: wellFormed(reply.text),
      ...(reply.reasoning === undefined ? {} : { reasoning: wellFormed(reply.reasoning) }),
      toolCalls: reply.toolCalls.map((call) => this.#uniqueCall(call, taken)),
    };
    const event: EventOf<'assistant.message'> = { type: 'assistant.message', ...clean };
    const cost = costOfReply(model, reply);
    await this.append([cost === undefined ? event : { ...event, cost }]);
    return clean;
  }

  /** `taken` are the ids of the calls before it in the same reply: some servers give all of them one. */
  #uniqueCall(call: ToolCall, taken: Set<string>): ToolCall {
    const given = wellFormed(call.id);
    const id = given === '' || taken.has(given) || this.thread.callIds.has(given) ? newCallId() : given;
    taken.add(id);
    const { isCut } = call;
    return { id, name: wellFormed(call.name), arguments: wellFormed(call.arguments), ...(isCut ? { isCut } : {}) };
  }

  #interrupted(call: ToolCall): Prepared | undefined {
    const tool = this.#session.tool(call.name);
    if (tool?.effects !== 'write' || !this.thread.startedCalls.has(call.id)) return undefined;
    return {
      kind: 'answered',
      call,
      effects: 'read',
      outcome: { content: prompt('interrupted-write'), isError: true },
    };
  }

  #prepare(call: ToolCall): Prepared {
    const refuse = (content: string): Prepared => ({
      kind: 'answered',
      call,
      effects: 'read',
      outcome: { content: shortened(content), isError: true },
    });
    if (call.isCut) return refuse(prompt('call-cut-off'));
    const tool = this.#session.tool(call.name);
    if (!tool) {
      const names = this.#session.toolNames();
      return refuse(prompt('unknown-tool', { name: call.name, names: names.join(', ') || 'none' }));
    }
    const parsed = tool.parse(call.arguments);
    if (!parsed.ok) return refuse(parsed.problem);
    return { kind: 'ready', call, effects: tool.effects, tool, input: parsed.input };
  }

  async #answer(item: Prepared, recovering: boolean): Promise<void> {
    const outcome = item.kind === 'ready' ? await this.#run(item, recovering) : item.outcome;
    try {
      await this.append([...(outcome.events ?? []), resultOf(item.call, outcome)]);
    } catch (error) {
      // A sibling may wait for a child that will never start now.
      void this.#children?.halt();
      throw error;
    }
    this.launchChildren();
  }

  async #run(item: Extract<Prepared, { kind: 'ready' }>, recovering: boolean): Promise<ToolOutcome> {
    const { call, tool, input } = item;
    const context: ToolContext = {
      session: this.info.session,
      call: call.id,
      cwd: this.info.cwd,
      scratch: this.#session.host.scratch?.(this.info),
      signal: this.signal,
      recovering,
      progress: (text) =>
        this.#session.host.observe({ kind: 'progress', session: this.info.session, call: call.id, text }),
    };
    try {
      this.signal.throwIfAborted();
      return await this.#toolChain({ turn: this, call, tool, input, context });
    } catch (error) {
      if (this.#session.fatal) throw error;
      const stopped = this.signal.aborted || isCancellation(error);
      return { content: stopped ? prompt('stopped-call') : shortened(describeError(error)), isError: true };
    }
  }

  /** The innermost link: what is about to have effects is logged first. */
  async #start({ call, tool, input, context }: ToolRun): Promise<ToolOutcome> {
    // A middleware may try a call again: what it has started before is gone on with.
    const recovering = context.recovering || this.thread.startedCalls.has(call.id);
    if (tool.effects !== 'read') {
      await this.append([{ type: 'tool.started', call: call.id, name: tool.name, effects: tool.effects }]);
    }
    try {
      const running = Promise.resolve(tool.execute(input, { ...context, recovering }));
      // A child ends by itself when it is cancelled and must write that down; other tools get a grace.
      const outcome = tool.effects === 'agent' ? await running : await raceStop(running, context.signal);
      return typeof outcome === 'string' ? { content: outcome } : outcome;
    } catch (error) {
      if (context.signal.aborted || isCancellation(error)) throw error;
      // A failure is a result like any other to the chain: it is masked, clipped and watched alike.
      return { content: describeError(error), isError: true };
    }
  }
}

/** `running`, or the signal's reason when a tool does not stop within its grace. */
async function raceStop<T>(running: Promise<T>, signal: AbortSignal): Promise<T> {
  let grace: NodeJS.Timeout | undefined;
  let onAbort = () => {};
  const stopped = new Promise<never>((_, reject) => {
    onAbort = () => {
      grace = setTimeout(() => reject(signal.reason), STOP_GRACE);
    };
  });
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([running, stopped]);
  } finally {
    clearTimeout(grace);
    signal.removeEventListener('abort', onAbort);
  }
}

/** A problem may repeat what the call was given, which may be megabytes, and no middleware sees it. */
const shortened = (problem: string): string =>
  problem.length <= LONGEST_PROBLEM ? problem : `${clipStart(problem, LONGEST_PROBLEM)} …`;

function resultOf(call: ToolCall, outcome: ToolOutcome): EventOf<'tool.result'> {
  const { images, notes } = boundedImages(outcome.images ?? []);
  return {
    type: 'tool.result',
    call: call.id,
    name: call.name,
    content: wellFormed([outcome.content, ...notes].join('\n')),
    isError: outcome.isError ?? false,
    ...(outcome.child === undefined ? {} : { child: outcome.child }),
    ...(outcome.limit === undefined ? {} : { limit: outcome.limit }),
    ...(outcome.full === undefined ? {} : { full: wellFormed(outcome.full) }),
    ...(images.length > 0 ? { images } : {}),
  };
}
