import type { Budget } from '../core/budget.ts';
import type { SessionEvent } from '../core/events.ts';
import type { ToolCall } from '../core/messages.ts';
import type { ModelReply, ModelRequest, ResolvedModel } from '../models/contract.ts';
import type { Tool, ToolContext, ToolOutcome } from '../tools/define-tool.ts';
import type { Thread } from './thread.ts';

/** What a session is, seen by middleware. */
export interface SessionInfo {
  readonly session: string;
  readonly kind: 'root' | 'child';
  readonly root: string;
  /** 0 for a root. */
  readonly depth: number;
  readonly cwd: string;
  /** Hash of the packed skills that it keeps, on every machine. Absent: those of its working folder, as they are. */
  readonly library?: string | undefined;
  /** Only workers with this tag run it. */
  readonly tag?: string | undefined;
  /** The skill whose body is a child's system prompt. */
  readonly skill?: { name: string; hash: string; path: string } | undefined;
  /** Required skills of this session alone. */
  readonly required: readonly string[];
  /** What `inherit:` of a child's skill asks for. */
  readonly inherit: readonly string[];
}

/** What says which skills a session has. */
export type SkillPlace = Pick<SessionInfo, 'cwd' | 'library'>;

/**
 * The making of a session. On a new session everything added here is frozen into its first event; on
 * one that is opened again only the tools' code is taken, the frozen text stays.
 */
export interface SessionSetup extends SessionInfo {
  readonly isNew: boolean;
  /** Aborts when the session is no longer wanted; none for a root session. */
  readonly signal?: AbortSignal | undefined;
  /** The state so far, empty for a new session. */
  readonly thread: Thread;
  readonly tools: readonly Tool[];
  /** Events that were added so far. */
  readonly events: readonly SessionEvent[];
  /** Whether the session may have a tool of this name: a child's skill may say no. */
  isAllowed(name: string): boolean;
  /** Whether a child's skill names a tool of this name itself: what it names it pays for. */
  isNamed(name: string): boolean;
  /** Adds a tool; one of the same name is replaced. */
  addTool(tool: Tool): void;
  /** Adds a section to the system prompt, after those that are there. */
  addSection(text: string): void;
  /** Adds an event that becomes durable together with the session's first one. */
  addEvent(event: SessionEvent): void;
}

/** A turn as middleware sees it. */
export interface TurnView {
  readonly info: SessionInfo;
  readonly thread: Thread;
  readonly budget: Budget;
  readonly signal: AbortSignal;
  /** A line for whoever watches; not part of the log. */
  progress(text: string): void;
  /** Logs events of the session's own; resolves when they are durable and folded into `thread`. */
  append(events: readonly SessionEvent[]): Promise<unknown>;
}

export interface ModelCall {
  readonly turn: TurnView;
  request: ModelRequest;
  readonly model: ResolvedModel;
  readonly signal: AbortSignal;
  /** The summing-up after a limit: it runs although the budget is spent. */
  readonly isLast: boolean;
}

export type NextModel = (call: ModelCall) => Promise<ModelReply>;

/** A call whose tool was found and whose arguments were accepted. */
export interface ToolRun {
  readonly turn: TurnView;
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: unknown;
  readonly context: ToolContext;
}

export type NextTool = (run: ToolRun) => Promise<ToolOutcome>;

/** Messages and events that a turn begins with. */
export interface TurnOpening {
  notices?: string[] | undefined;
  events?: SessionEvent[] | undefined;
}

/**
 * May the turn end? `continue` adds a message and goes on; `fail` ends it as failed. What a message is
 * `about` stands in `thread.turn.asked` from then on, also after a crash.
 */
export type TurnVerdict =
  | { kind: 'end' }
  | {
      kind: 'continue';
      origin: 'nudge' | 'notice';
      message: string;
      about?: string | undefined;
      events?: SessionEvent[] | undefined;
    }
  | { kind: 'fail'; reason: string };

/** The answer of a turn in its final form. */
export interface ShapedAnswer {
  answer: string;
  /** It is JSON that fits the session's `outputSchema`. */
  structured: boolean;
}

/**
 * One member of the chain around a session. The first listed is outermost. `next` may be
 * called again after it settled, for a retry, but never twice at once.
 */
export interface Middleware {
  readonly name: string;
  /** Adds tools and prompt sections, once a session and process. */
  prepareSession?(setup: SessionSetup): void | Promise<void>;
  /** Runs after the user message is logged and before the first model call of a turn. */
  startTurn?(turn: TurnView): TurnOpening | undefined | Promise<TurnOpening | undefined>;
  aroundModel?(call: ModelCall, next: NextModel): Promise<ModelReply>;
  aroundTool?(run: ToolRun, next: NextTool): Promise<ToolOutcome>;
  /** Asked when the model wants no more tools; the first verdict that is not `end` counts. */
  finishTurn?(turn: TurnView): TurnVerdict | Promise<TurnVerdict>;
  /** Puts the answer of a turn that completed or met a limit into its final form; the first one counts. */
  shapeAnswer?(turn: TurnView, answer: string): ShapedAnswer | undefined | Promise<ShapedAnswer | undefined>;
}

/** Gives a middleware object its type where it is written. */
export const defineMiddleware = (middleware: Middleware): Middleware => middleware;
