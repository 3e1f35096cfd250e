import { describeError, isCancellation } from '../core/errors.ts';
import type { EventOf } from '../core/events.ts';
import type { ToolCall } from '../core/messages.ts';
import { Parked } from '../core/parked.ts';
import { prompt } from '../core/prompts.ts';
import { clipStart, wellFormed } from '../core/text.ts';
import type { Tool, ToolContext, ToolEffects, ToolOutcome } from '../tools/define-tool.ts';
import { boundedImages } from '../tools/images.ts';
import type { BackgroundChildren } from './background.ts';
import { composeTool } from './chain.ts';
import type { NextTool, ToolRun, TurnView } from './middleware.ts';
import { schedule } from './scheduler.ts';
import type { Session } from './session.ts';

/** How long a tool may take to clean up after it was told to stop, in milliseconds. */
const STOP_GRACE = 5_000;

/** Most characters of a text that says why a call was not run or how it failed. */
const LONGEST_PROBLEM = 8_000;

/** A call that is ready to run, or one that is answered without running anything. */
type Prepared =
  | { kind: 'ready'; call: ToolCall; effects: ToolEffects; tool: Tool; input: unknown }
  | { kind: 'answered'; call: ToolCall; effects: 'read'; outcome: ToolOutcome };

/** Runs the calls that a model asks for in one turn, and logs what comes of each. */
export class ToolCalls {
  readonly #session: Session;
  readonly #turn: TurnView;
  readonly #children: BackgroundChildren | undefined;
  readonly #chain: NextTool;
  /** Calls that got as far as their tool. */
  readonly #begun = new Set<string>();

  constructor(session: Session, turn: TurnView, children: BackgroundChildren | undefined) {
    this.#session = session;
    this.#turn = turn;
    this.#children = children;
    this.#chain = composeTool(session.host.chain, (run) => this.#start(run));
  }

  /** By the barrier rule; each result is logged as it comes. */
  async run(calls: readonly ToolCall[], recovering: boolean): Promise<void> {
    const prepared = calls.map((call) =>
      recovering ? (this.#interrupted(call) ?? this.#prepare(call)) : this.#prepare(call),
    );
    await schedule(prepared, (item) => this.#answer(item, recovering));
  }

  #interrupted(call: ToolCall): Prepared | undefined {
    const tool = this.#session.tool(call.name);
    if (tool?.effects !== 'write' || !this.#session.thread.startedCalls.has(call.id)) return undefined;
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
      const names = this.#session.toolNames().filter((name) => this.#session.tool(name));
      return refuse(prompt('unknown-tool', { name: call.name, names: names.join(', ') || 'none' }));
    }
    const parsed = tool.parse(call.arguments);
    if (!parsed.ok) return refuse(parsed.problem);
    return { kind: 'ready', call, effects: tool.effects, tool, input: parsed.input };
  }

  async #answer(item: Prepared, recovering: boolean): Promise<void> {
    try {
      const found = item.kind === 'ready' ? await this.#run(item, recovering) : item.outcome;
      const outcome = recovering ? await this.#withChildren(item.call.id, found) : found;
      await this.#session.append([...(outcome.events ?? []), resultOf(item.call, outcome)]);
    } catch (error) {
      // A sibling may wait for a child that will never start now.
      if (!(error instanceof Parked)) void this.#children?.halt();
      throw error;
    }
    this.#children?.launch();
  }

  /**
   * A call that is refused now, as when its skill was disabled meanwhile, may have started children before
   * the crash: they get an end, and the call what they have.
   */
  async #withChildren(call: string, outcome: ToolOutcome): Promise<ToolOutcome> {
    const { host, thread } = this.#session;
    const isAnswered = outcome.child !== undefined || outcome.events?.some(({ type }) => type === 'usage');
    if (isAnswered || !thread.startedCalls.has(call)) return outcome;
    // Whoever has taken the session over meanwhile goes on with its children.
    await this.#session.assureLease();
    const reason = outcome.isError ? outcome.content : prompt('interrupted-call');
    const ended = (await host.background?.closeCalls(this.#session, [call], reason))?.get(call);
    if (!ended || outcome.isError) return ended ?? outcome;
    const events = [...(outcome.events ?? []), ...(ended.events ?? [])];
    return { ...ended, content: `${outcome.content}\n\n${ended.content}`, events, isError: false };
  }

  async #run(item: Extract<Prepared, { kind: 'ready' }>, recovering: boolean): Promise<ToolOutcome> {
    const { call, tool, input } = item;
    const { host, id: session, info } = this.#session;
    const { signal } = this.#turn;
    const context: ToolContext = {
      session,
      call: call.id,
      cwd: info.cwd,
      scratch: host.scratch?.(info),
      signal,
      recovering,
      progress: (text) => host.observe({ kind: 'progress', session, call: call.id, text }),
    };
    try {
      // A child of before a crash is reached all the same: it has an end to write down.
      if (!(recovering && this.#session.thread.startedCalls.has(call.id))) signal.throwIfAborted();
      const outcome = await this.#chain({ turn: this.#turn, call, tool, input, context });
      const isRefused = outcome.isError && !this.#begun.has(call.id);
      return isRefused ? { ...outcome, content: shortened(outcome.content) } : outcome;
    } catch (error) {
      if (this.#session.fatal || error instanceof Parked) throw error;
      const stopped = signal.aborted || isCancellation(error);
      return { content: stopped ? prompt('stopped-call') : shortened(describeError(error)), isError: true };
    }
  }

  /** The innermost link: what is about to have effects is logged first. */
  async #start({ call, tool, input, context }: ToolRun): Promise<ToolOutcome> {
    this.#begun.add(call.id);
    // A middleware may try a call again: what it has started before is gone on with.
    const recovering = context.recovering || this.#session.thread.startedCalls.has(call.id);
    if (tool.effects !== 'read') {
      await this.#session.append([{ type: 'tool.started', call: call.id, name: tool.name, effects: tool.effects }]);
    }
    try {
      const running = Promise.resolve(tool.execute(input, { ...context, recovering }));
      // A child ends by itself when it is cancelled and must write that down; other tools get a grace.
      const outcome = tool.effects === 'agent' ? await running : await raceStop(running, context.signal);
      return typeof outcome === 'string' ? { content: outcome } : outcome;
    } catch (error) {
      const isOver = context.signal.aborted || this.#session.fatal !== undefined;
      if (isOver || isCancellation(error) || error instanceof Parked) throw error;
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

/** A problem may repeat what the call was given, which may be megabytes, and no middleware that clips sees it. */
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
