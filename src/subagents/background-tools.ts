import { describeError, ReasonixError } from '../core/errors.ts';
import { prompt } from '../core/prompts.ts';
import type { SessionStore } from '../store/contract.ts';
import type { ToolContext, ToolOutcome } from '../tools/define-tool.ts';
import type { CancelSubagentInput, SendToSubagentInput, WaitSubagentsInput } from '../tools/skill-service.ts';
import type { Background } from './background.ts';
import { endEvents } from './child-end.ts';
import { isFrom } from './child-log.ts';
import type { LiveSession } from './live.ts';
import { findReference } from './references.ts';
import { statusText } from './result-text.ts';
import type { ResultTexts } from './undelivered.ts';

export interface BackgroundToolsOptions {
  store: SessionStore;
  texts: ResultTexts;
}

/** What a session can do about the children that run beside its turn. */
export class BackgroundTools {
  readonly #options: BackgroundToolsOptions;

  constructor(options: BackgroundToolsOptions) {
    this.#options = options;
  }

  /** Results of those that have ended, as events and text of this call; a line for each other one. */
  async wait(input: WaitSubagentsInput, caller: LiveSession, context: ToolContext): Promise<ToolOutcome> {
    const background = backgroundOf(caller);
    await background.started(context.call, context.signal);
    const named = [...new Set(input.refs ?? [])];
    const references = named.length > 0 ? named : background.undelivered;
    if (references.length === 0) return { content: prompt('no-background') };
    const [ours, others] = split(references, (reference) => background.undelivered.includes(reference));
    const lines = await Promise.all(others.map((reference) => this.#lineOrProblem(reference, caller)));
    const running = () => ours.filter((reference) => background.running.includes(reference));
    const isEnough = () => running().length === 0 || (input.mode === 'any' && running().length < ours.length);
    const { signal, recovering } = context;
    const timeout = input.timeout === undefined ? undefined : input.timeout * 1000;
    await background.wait(isEnough, { signal, recovering, timeout });
    const claimed = background.claim(ours, context.call);
    const results = this.#options.texts(claimed.map(({ ended }) => ended.result));
    const left = ours.filter((reference) => !claimed.some(({ ended }) => ended.result.reference === reference));
    const more = await Promise.all(left.map((reference) => this.#line(reference, caller)));
    return {
      // Before the results: behind them they would read like the end of the last answer.
      content: [[...lines, ...more].join('\n'), ...results].filter((part) => part !== '').join('\n\n'),
      isBounded: true,
      events: claimed.flatMap(({ call, ended }) => endEvents(call, ended)),
    };
  }

  /** Ends a child and all below it; what it has comes with the next step, like any result. */
  async cancel({ ref, reason }: CancelSubagentInput, caller: LiveSession, context: ToolContext): Promise<ToolOutcome> {
    const background = backgroundOf(caller);
    await background.started(context.call, context.signal);
    const cancelled = await background.cancel(ref, reason?.trim() || prompt('cancelled-by-parent'), context);
    return { content: cancelled ? prompt('subagent-cancelled', { reference: ref }) : await this.#line(ref, caller) };
  }

  /** Puts a message into the inbox of a child that runs, once, however often the call runs. */
  async send({ ref, message }: SendToSubagentInput, caller: LiveSession, context: ToolContext): Promise<ToolOutcome> {
    const from = { session: context.session, call: context.call };
    const background = backgroundOf(caller);
    await background.started(context.call, context.signal);
    const sent = { content: prompt('message-sent', { reference: ref }) };
    if (context.recovering) {
      const events = await this.#options.store.read(ref);
      if (events.some((event) => event.type === 'message.received' && isFrom(event.from, from))) return sent;
    }
    const state = await background.send(ref, { from, content: message }, context);
    if (state === 'sent') return sent;
    const content = state === 'late' ? prompt('message-late', { reference: ref }) : await this.#line(ref, caller);
    return { content, isError: true };
  }

  async #lineOrProblem(reference: string, caller: LiveSession): Promise<string> {
    try {
      return await this.#line(reference, caller);
    } catch (error) {
      if (!ReasonixError.isInstance(error)) throw error;
      return describeError(error);
    }
  }

  /** How it is with a child that there is nothing to be done about. @throws ReasonixError for none of ours. */
  async #line(reference: string, { session, background }: LiveSession): Promise<string> {
    const { thread } = await findReference(this.#options.store, reference, session.info.root);
    const skill = thread.started?.skill?.name ?? '';
    if (thread.turn || !thread.lastTurn) {
      const steps = thread.turn?.steps ?? 0;
      const isOurs = background?.undelivered.includes(reference) ?? false;
      return prompt(isOurs ? 'subagent-running' : 'subagent-elsewhere', { reference, skill, steps });
    }
    return prompt('subagent-ended', { reference, skill, status: statusText(thread.lastTurn) });
  }
}

function backgroundOf({ background, session }: LiveSession): Background {
  if (background) return background;
  throw new ReasonixError('usage', `session ${session.id} has no children beside its turn`);
}

function split<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}
