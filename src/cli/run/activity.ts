import type { EventOf, StoredEvent } from '../../core/events.ts';
import type { LimitHit } from '../../core/limits.ts';
import { isModelCall } from '../../core/model-call.ts';
import { addCost, addUsage, noUsage, type Usage } from '../../core/usage.ts';
import type { Observation } from '../../session/host.ts';
import { callText, parseObject } from '../format.ts';

/** What one session does right now, and what it has done as far as it was watched. */
export interface Activity {
  readonly session: string;
  parent: Activity | undefined;
  /** The call of its parent that it works for. */
  call: string | undefined;
  /** Empty for the session that the user talks to. */
  skill: string;
  steps: number;
  /** Steps that a turn may take, when that is limited. */
  maxSteps: number | undefined;
  /** Of its own model calls. */
  usage: Usage;
  /** Undefined as soon as the cost of one call is not known. */
  cost: number | undefined;
  /** Calls that have no result yet, in their order. */
  readonly calls: Map<string, OpenCall>;
  /** What a tool said about itself last. */
  progress: string | undefined;
  /** `idle` before its first turn, then `running`, or how the turn ended: `limit:steps`. */
  status: string;
  /** False when nobody runs a turn that has no end. */
  isHeld: boolean;
  /** Its turn was handed to workers. */
  isHanded: boolean;
  /** The limit that ended its turn. */
  limit: LimitHit | undefined;
  /** Why its turn did not complete. */
  reason: string | undefined;
  /** When its turn began, and when that ended; times are milliseconds. */
  startedAt: number;
  endedAt: number | undefined;
  /** Of the newest event. */
  lastAt: number;
  /** What earlier turns took. */
  earlier: number;
  /** It began as a copy, whose answers cost nothing again. */
  isFork: boolean;
  readonly children: Activity[];
}

export interface OpenCall {
  text: string;
  /** Of a call that runs a skill. */
  skill: string | undefined;
}

/** Asked for a session that ran before this process did and whose start was not seen. */
export type Identify = (session: string) => Promise<{ parent?: string | undefined; skill?: string | undefined }>;

export interface ActivityTreeOptions {
  root: string;
  identify?: Identify | undefined;
  /** Steps that a turn of the root may take. */
  maxSteps?: number | undefined;
  now?: (() => number) | undefined;
}

/** Tools that run skills, by all of their names. */
const RUN_SKILL: readonly string[] = ['run_skill', 'InvokeSkill'];

/** Folds what is observed into a tree of activities. */
export class ActivityTree {
  readonly root: Activity;
  readonly #byId = new Map<string, Activity>();
  readonly #skillByCall = new Map<string, string>();
  readonly #identify: Identify | undefined;
  readonly #now: () => number;

  constructor(options: ActivityTreeOptions) {
    this.#identify = options.identify;
    this.#now = options.now ?? Date.now;
    this.root = this.#add(options.root, undefined, '');
    this.root.maxSteps = options.maxSteps;
  }

  get(session: string): Activity | undefined {
    return this.#byId.get(session);
  }

  get sessions(): Iterable<Activity> {
    return this.#byId.values();
  }

  observe(observation: Observation): void {
    const activity = this.#byId.get(observation.session) ?? this.#meet(observation);
    if (observation.kind === 'progress') activity.progress = observation.text;
    if (observation.kind === 'event') this.#apply(activity, observation.event);
  }

  #apply(activity: Activity, event: StoredEvent): void {
    activity.lastAt = Date.parse(event.at);
    switch (event.type) {
      case 'session.started':
        activity.maxSteps = event.budget.steps ?? activity.maxSteps;
        activity.isFork = event.forkedFrom !== undefined;
        activity.status = 'idle';
        activity.skill = event.skill?.name ?? '';
        break;
      case 'user.message':
        if (event.origin !== 'nudge' && event.origin !== 'notice') begin(activity, event);
        break;
      case 'assistant.message':
        this.#answered(activity, event);
        break;
      case 'tool.result':
        activity.calls.delete(event.call);
        activity.progress = undefined;
        break;
      case 'context.compacted':
        if (event.usage) spend(activity, { usage: event.usage, cost: event.cost });
        break;
      case 'turn.ended':
        activity.status = event.status === 'limit' ? `limit:${event.limit?.which ?? 'unknown'}` : event.status;
        activity.limit = event.limit;
        activity.reason = event.status === 'completed' ? undefined : event.reason;
        activity.endedAt = activity.lastAt;
        activity.calls.clear();
        break;
    }
  }

  #answered(activity: Activity, event: EventOf<'assistant.message'>): void {
    activity.calls.clear();
    activity.progress = undefined;
    for (const { id, name, arguments: args } of event.toolCalls) {
      const given = RUN_SKILL.includes(name) ? parseObject(args) : undefined;
      const skill = given && String(given.name ?? given.skill_name ?? '');
      activity.calls.set(id, { text: callText(name, args), skill });
      if (skill) this.#skillByCall.set(`${activity.session} ${id}`, skill);
    }
    if (!isModelCall(event, activity.isFork)) return;
    activity.steps++;
    spend(activity, event);
  }

  /** A session seen for the first time: its first event, or the message that continued it, names its parent. */
  #meet(observation: Observation): Activity {
    const { session } = observation;
    const event = observation.kind === 'event' ? observation.event : undefined;
    if (event?.type === 'session.started') {
      const parent = event.parent && this.#byId.get(event.parent.session);
      const activity = this.#add(session, parent ?? this.root, event.skill?.name ?? '');
      activity.call = event.parent?.call;
      return activity;
    }
    if (event?.type === 'user.message' && event.from) {
      const skill = this.#skillByCall.get(`${event.from.session} ${event.from.call}`) ?? '';
      return this.#add(session, this.#byId.get(event.from.session) ?? this.root, skill);
    }
    const activity = this.#add(session, this.root, '');
    void this.#ask(activity);
    return activity;
  }

  /** The store knows who a session is whose turn was cut and goes on now. */
  async #ask(activity: Activity): Promise<void> {
    const known = await this.#identify?.(activity.session).catch(() => undefined);
    if (!known) return;
    activity.skill = known.skill ?? '';
    const parent = known.parent === undefined ? undefined : this.#byId.get(known.parent);
    if (!parent || parent === activity.parent) return;
    activity.parent?.children.splice(activity.parent.children.indexOf(activity), 1);
    activity.parent = parent;
    parent.children.push(activity);
  }

  #add(session: string, parent: Activity | undefined, skill: string): Activity {
    const activity: Activity = {
      session,
      parent,
      call: undefined,
      skill,
      steps: 0,
      maxSteps: undefined,
      usage: noUsage(),
      cost: 0,
      calls: new Map(),
      progress: undefined,
      status: 'running',
      isHeld: true,
      isHanded: false,
      limit: undefined,
      reason: undefined,
      startedAt: this.#now(),
      lastAt: this.#now(),
      endedAt: undefined,
      earlier: 0,
      isFork: false,
      children: [],
    };
    this.#byId.set(session, activity);
    parent?.children.push(activity);
    return activity;
  }
}

function begin(activity: Activity, { at, from, terms }: StoredEvent & EventOf<'user.message'>): void {
  if (activity.endedAt !== undefined) activity.earlier += activity.endedAt - activity.startedAt;
  activity.startedAt = Date.parse(at);
  activity.endedAt = undefined;
  activity.status = 'running';
  activity.limit = undefined;
  activity.reason = undefined;
  activity.call = from?.call;
  activity.isHanded = terms !== undefined;
}

function spend(activity: Activity, { usage, cost }: { usage: Usage; cost?: number | undefined }): void {
  activity.usage = addUsage(activity.usage, usage);
  activity.cost = addCost(activity.cost, cost);
}

export const isRunning = ({ status }: Activity): boolean => status === 'running';

/**
 * What people are told: an open turn that nobody runs waits for its children or for a worker, where there are
 * any, else it was cut; and a child without a turn waits for a slot.
 */
export function stateOf(activity: Activity): string {
  if (isRunning(activity) && activity.isHeld) return 'running';
  if (isRunning(activity)) return activity.isHanded ? (isParked(activity) ? 'parked' : 'queued') : 'interrupted';
  if (activity.status === 'idle' && activity.parent?.status === 'running') return 'waits for a slot';
  return activity.status.replace('_', ' ');
}

function isParked(activity: Activity): boolean {
  if (activity.calls.size > 0) return waitingFor(activity).children.length > 0;
  return activity.children.some(isRunning);
}

/** Milliseconds of all its turns; the clock of one that was cut stopped with its last event. */
export function elapsed(activity: Activity, now: number): number {
  if (activity.status === 'idle') return 0;
  const until = activity.endedAt ?? (activity.isHeld ? now : activity.lastAt);
  return activity.earlier + Math.max(0, until - activity.startedAt);
}

/** What a running session waits for: children at work, and skills whose children have not begun. */
export function waitingFor({ calls, children }: Activity): { children: Activity[]; slots: string[] } {
  const open = [...calls].filter(([, { skill }]) => skill !== undefined);
  const found = children.filter(({ call }) => open.some(([id]) => id === call));
  const slots = open.filter(([id]) => !found.some(({ call }) => call === id)).map(([, { skill }]) => skill ?? '');
  return { children: found.filter(({ status }) => status === 'running' || status === 'idle'), slots };
}
