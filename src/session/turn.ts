import type { Budget } from '../core/budget.ts';
import type { EventOf, SessionEvent } from '../core/events.ts';
import { newCallId } from '../core/ids.ts';
import { type LimitHit, limitText } from '../core/limits.ts';
import { type LinkedSignal, linkSignals } from '../core/linked-signal.ts';
import type { ToolCall } from '../core/messages.ts';
import { Parked } from '../core/parked.ts';
import { prompt } from '../core/prompts.ts';
import { wellFormed } from '../core/text.ts';
import type { ModelReply } from '../models/contract.ts';
import { costOfReply } from '../models/prices.ts';
import type { BackgroundChildren } from './background.ts';
import { composeModel, shapedEnd, verdictOf } from './chain.ts';
import type { TurnEnd } from './loop.ts';
import type { NextModel, SessionInfo, TurnVerdict, TurnView } from './middleware.ts';
import { closingResults } from './open-calls.ts';
import type { Session } from './session.ts';
import type { Thread } from './thread.ts';
import { ToolCalls } from './tool-calls.ts';

/** Time for the summing-up when the time limit itself was reached, in milliseconds. */
const SUMMARY_GRACE = 20_000;

/** What a turn runs under. */
export interface TurnOptions {
  budget: Budget;
  signal: AbortSignal;
  /** Aborts when the turn is to be handed over at the end of its step. */
  leaving?: AbortSignal | undefined;
}

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
  readonly #calls: ToolCalls;
  readonly #children: BackgroundChildren | undefined;
  readonly #leaving: AbortSignal | undefined;

  constructor(session: Session, options: TurnOptions) {
    this.#session = session;
    this.#leaving = options.leaving;
    this.info = session.info;
    this.thread = session.thread;
    this.budget = options.budget;
    this.#outer = options.signal;
    this.#linked = linkSignals([options.signal], this.budget.remainingTime());
    this.signal = this.#linked.signal;
    this.#children = session.host.background?.of(session, this.signal);
    const { chain } = session.host;
    this.#askChain = composeModel(chain, async (call) => {
      // As late as can be: whoever was stopped on the way here may have lost the session meanwhile.
      await session.assureLease();
      return call.model.client.generate(call.request, {
        signal: call.signal,
        onDelta: (delta) => session.host.observe({ kind: 'delta', session: session.id, delta }),
      });
    });
    this.#calls = new ToolCalls(session, this, this.#children);
  }

  progress(text: string): void {
    this.#session.host.observe({ kind: 'progress', session: this.info.session, text });
  }

  append(events: readonly SessionEvent[]): Promise<unknown> {
    return this.#session.append(events);
  }

  /** One model call, logged before anything it asked for happens. @throws Parked when the turn is to be handed over. */
  async ask(): Promise<ModelReply> {
    this.#outer.throwIfAborted();
    if (this.#leaving?.aborted) throw new Parked();
    await this.#children?.look?.();
    await this.#takeIn();
    return this.#log(await this.#askChain(await this.#modelCall('auto', this.signal, false)));
  }

  /** The last call after a limit: the tools stay in the prompt, calling them is forbidden. */
  async sumUp(hit: LimitHit): Promise<string> {
    const before = this.thread.turn?.lastText ?? '';
    if (this.thread.turn?.limit) {
      // It was logged before the turn was cut, and is not asked for twice.
      if (this.thread.messages.at(-1)?.role === 'assistant') return before;
    } else {
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
  runCalls(calls: readonly ToolCall[], recovering = false): Promise<void> {
    return this.#calls.run(calls, recovering);
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

  /** True when the turn ran out of time of its own, and nobody cancelled it. */
  get timedOut(): boolean {
    return this.signal.aborted && !this.#outer.aborted;
  }

  get cancelled(): boolean {
    return this.#outer.aborted;
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

  async #modelCall(toolChoice: 'auto' | 'none', signal: AbortSignal, isLast: boolean) {
    const model = await this.#session.model();
    await this.#session.assureLease();
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
      root: this.info.root,
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
}
