import type { EventOf, SessionEvent, StoredEvent } from '../core/events.ts';
import type { ModelDelta, ResolvedModel } from '../models/contract.ts';
import type { SessionStore } from '../store/contract.ts';
import type { Tool } from '../tools/define-tool.ts';
import type { BackgroundHost } from './background.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { Middleware, SessionInfo } from './middleware.ts';

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
  /** The scratch folder of a session, absolute; absent for sessions that have none. */
  scratch?(info: SessionInfo): string | undefined;
  /** The folder in which a session works on this machine. Default the one that it was started in. */
  place?(started: Pick<EventOf<'session.started'>, 'cwd' | 'tag'>): string;
  /** False for a tool of which no call would run: no new session is offered it. Default all are. */
  isOffered?(tool: string): boolean;
  /** Absent where sessions have no children beside their turns. */
  readonly background?: BackgroundHost | undefined;
}

/** The making of a session, as whoever starts it wants it. */
export interface SessionPlan {
  info: SessionInfo;
  /** First section of the system prompt; middleware adds its own after it. */
  system: string;
  tools: readonly Tool[];
  /** Which of the tools, after middleware added theirs, the session may have. Default all. */
  narrow?: ((names: string[]) => string[]) | undefined;
  /** Whether the skill of a child names a tool. Default no. */
  isNamed?: ((name: string) => boolean) | undefined;
  model: EventOf<'session.started'>['model'];
  budget: EventOf<'session.started'>['budget'];
  parent?: EventOf<'session.started'>['parent'];
  permissions?: EventOf<'session.started'>['permissions'];
  outputSchema?: EventOf<'session.started'>['outputSchema'];
  forkedFrom?: EventOf<'session.started'>['forkedFrom'];
  /** Ends its making: that of the turn which a child is for. */
  signal?: AbortSignal | undefined;
  /** History that a fork starts with. */
  history?: readonly SessionEvent[] | undefined;
}
