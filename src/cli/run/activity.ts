import type { StoredEvent } from '../../core/events.ts';
import { totalTokens } from '../../core/usage.ts';
import type { Observation } from '../../session/host.ts';
import { statusText } from '../../subagents/result-text.ts';
import { callText, parseObject } from '../format.ts';

/** What one session does right now, and what it has done in this run. */
export interface Activity {
  readonly session: string;
  parent: Activity | undefined;
  /** Empty for the session that the user talks to. */
  skill: string;
  steps: number;
  /** Steps that it may take, when that is limited. */
  maxSteps: number | undefined;
  tokens: number;
  /** Calls that have no result yet, in their order. */
  readonly calls: Map<string, string>;
  /** What a tool said about itself last. */
  progress: string | undefined;
  /** `running`, or how the turn ended. */
  status: string;
  startedAt: number;
  endedAt: number | undefined;
  readonly children: Activity[];
}

/** Asked for a session that ran before this process did and whose start was not seen. */
export type Identify = (session: string) => Promise<{ parent?: string | undefined; skill?: string | undefined }>;

/** Folds what is observed into a tree of activities. */
export class ActivityTree {
  readonly root: Activity;
  readonly #byId = new Map<string, Activity>();
  readonly #skillByCall = new Map<string, string>();
  readonly #identify: Identify | undefined;
  readonly #now: () => number;

  constructor(options: { root: string; identify?: Identify | undefined; now?: (() => number) | undefined }) {
    this.#identify = options.identify;
    this.#now = options.now ?? Date.now;
    this.root = this.#add(options.root, undefined, '');
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
    switch (event.type) {
      case 'session.started':
        activity.maxSteps = event.budget.steps;
        break;
      case 'user.message':
        if (event.origin === 'nudge' || event.origin === 'notice') break;
        if (activity.status !== 'running') activity.startedAt = this.#now();
        activity.status = 'running';
        activity.endedAt = undefined;
        break;
      case 'assistant.message':
        activity.calls.clear();
        activity.progress = undefined;
        for (const { id, name, arguments: args } of event.toolCalls) {
          activity.calls.set(id, callText(name, args));
          const skill = parseObject(args)?.name;
          if (typeof skill === 'string') this.#skillByCall.set(`${activity.session} ${id}`, skill);
        }
        if (event.finishReason === 'host') break;
        activity.steps++;
        activity.tokens += totalTokens(event.usage);
        break;
      case 'tool.result':
        activity.calls.delete(event.call);
        activity.progress = undefined;
        break;
      case 'turn.ended':
        activity.status = statusText(event);
        activity.endedAt = this.#now();
        activity.calls.clear();
        break;
    }
  }

  /** A session seen for the first time: its first event, or the message that continued it, names its parent. */
  #meet(observation: Observation): Activity {
    const { session } = observation;
    const event = observation.kind === 'event' ? observation.event : undefined;
    if (event?.type === 'session.started') {
      const parent = event.parent && this.#byId.get(event.parent.session);
      return this.#add(session, parent ?? this.root, event.skill?.name ?? '');
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
      skill,
      steps: 0,
      maxSteps: undefined,
      tokens: 0,
      calls: new Map(),
      progress: undefined,
      status: 'running',
      startedAt: this.#now(),
      endedAt: undefined,
      children: [],
    };
    this.#byId.set(session, activity);
    parent?.children.push(activity);
    return activity;
  }
}
