import type { EventOf, StoredEvent } from '../core/events.ts';
import type { Message, ToolCall, ToolMessage } from '../core/messages.ts';
import { addCost, addUsage, noUsage, type Usage } from '../core/usage.ts';
import { compactedMessages } from './compacted.ts';
import { ContextSize, resultSize, sizeOf } from './context-size.ts';
import { LoadedSkills } from './loaded-skills.ts';
import { shared } from './shared.ts';

/** A message that began a turn. */
export interface RequestMessage {
  seq: number;
  origin: 'user' | 'task' | 'continuation';
  content: string;
}

/** A child that runs beside the turn, or has ended and is not delivered yet. */
export interface BackgroundChild {
  call: string;
  skill: string;
}

/** A message that a session got while it ran and has not read yet. */
export interface InboxMessage {
  from: { session: string; call: string };
  content: string;
}

/** The turn that is open: begun by a user message, not ended yet. */
export interface OpenTurn {
  /** Sequence number of the message that began it. */
  seq: number;
  from: { session: string; call: string } | undefined;
  /** What the caller lets the session do in this turn, on top of what was frozen with it. */
  permissions: EventOf<'user.message'>['permissions'];
  /** When it began, epoch milliseconds. */
  since: number;
  /** What other processes need to know to run it; absent for a turn of the process that began it. */
  terms: EventOf<'user.message'>['terms'];
  /** Why somebody wants it to end, once its children were told so. */
  cancelling: string | undefined;
  /** False while there is nothing after the message but messages in the inbox. */
  hasBegun: boolean;
  steps: number;
  /** Model calls of this session. */
  usage: Usage;
  /** Undefined as soon as one call's cost is not known. */
  cost: number | undefined;
  /** What children of this turn used, each once. */
  childUsage: Usage;
  childCost: number | undefined;
  childSteps: number;
  spawns: number;
  /** Nudges for an empty reply. */
  emptyNudges: number;
  /** What nudges of the turn have asked for, by their `about`. */
  asked: Set<string>;
  /** The newest text that a person would see. */
  lastText: string;
  /** Set while the turn sums up after a limit. */
  limit: EventOf<'turn.ended'>['limit'];
  /** The limit that kept the newest child from being started. */
  refusedBy: EventOf<'turn.ended'>['limit'];
}

/**
 * A session's state: a fold over its events and nothing else. `apply` is the only writer.
 */
export class Thread {
  readonly session: string;
  started: EventOf<'session.started'> | undefined;
  lastSeq = 0;
  readonly messages: Message[] = [];
  /** How much of a window `messages` and what is frozen take. */
  readonly size = new ContextSize();
  /** What began the first turn, and the newest one. */
  firstRequest: RequestMessage | undefined;
  lastRequest: RequestMessage | undefined;
  turn: OpenTurn | undefined;
  lastTurn: (EventOf<'turn.ended'> & { at: string }) | undefined;
  /** The figures of the turn that `lastTurn` ended. */
  ended: OpenTurn | undefined;
  /** Own model calls, over all turns. */
  usage: Usage = noUsage();
  cost: number | undefined = 0;
  steps = 0;
  /** What children used, over all turns. */
  childUsage: Usage = noUsage();
  /** Calls of the newest assistant message that have no result yet. */
  readonly openCalls = new Map<string, ToolCall>();
  /** Write and agent calls that had begun. */
  readonly startedCalls = new Set<string>();
  /** True while the newest assistant message was put there by the host and not by a model. */
  hostCall = false;
  readonly loadedSkills = new LoadedSkills();
  readonly disabledSkills = new Set<string>();
  /** Nudges for required skills. */
  requiredNudges = 0;
  readonly skillChanges: EventOf<'skills.changed'>[] = [];
  /** Tools that came (true) or went (false) after those of the session were frozen, as the model was told. */
  readonly lateTools = new Map<string, boolean>();
  /** Children in the order of their calls. */
  readonly children: { ref: string; call: string }[] = [];
  /** Background children that are not delivered yet, by reference. */
  readonly background = new Map<string, BackgroundChild>();
  readonly inbox: InboxMessage[] = [];
  /** When the newest assistant message was logged, in milliseconds. */
  askedAt = 0;
  /** Calls of other sessions that have sent a task or a continuation, as `session call`. */
  readonly callers = new Set<string>();
  /** Calls of other sessions whose messages have come into the inbox, as `session call`. */
  readonly received = new Set<string>();
  /** Ids of all calls so far, each with its place among them: a provider may send one twice. */
  readonly callIds = new Map<string, number>();
  readonly #slots = new Map<string, number>();

  constructor(session: string) {
    this.session = session;
  }

  static fold(session: string, events: readonly StoredEvent[]): Thread {
    const thread = new Thread(session);
    for (const event of events) thread.apply(event);
    return thread;
  }

  /** The history as the model gets it: results in call order, whatever order they came in. */
  history(): Message[] {
    if (this.openCalls.size === 0) return this.messages.slice();
    return this.messages.filter((message) => message.role !== 'tool' || !this.openCalls.has(message.callId));
  }

  apply(event: StoredEvent): void {
    this.lastSeq = event.seq;
    if (this.turn && event.type !== 'message.received') this.turn.hasBegun = true;
    switch (event.type) {
      case 'session.started':
        this.started = { ...event, system: shared(event.system), tools: shared(event.tools) };
        this.size.start(this.started);
        break;
      case 'user.message':
        this.#user(event);
        break;
      case 'assistant.message':
        this.#assistant(event);
        break;
      case 'tool.started':
        this.startedCalls.add(event.call);
        break;
      case 'tool.result':
        this.#result(event);
        break;
      case 'skill.loaded':
        this.loadedSkills.load(event);
        break;
      case 'required.nudged':
        this.requiredNudges = event.count;
        break;
      case 'skill.switched':
        if (event.enabled) this.disabledSkills.delete(event.name);
        else this.disabledSkills.add(event.name);
        break;
      case 'skills.changed':
        this.skillChanges.push(event);
        break;
      case 'tools.changed':
        for (const name of event.added) this.lateTools.set(name, true);
        for (const name of event.removed) this.lateTools.set(name, false);
        break;
      case 'context.compacted':
        this.#compact(event);
        break;
      case 'turn.ended':
        this.lastTurn = event;
        this.ended = this.turn;
        this.turn = undefined;
        this.hostCall = false;
        break;
      case 'turn.cancelling':
        if (this.turn) this.turn.cancelling = event.reason;
        break;
      case 'usage':
        this.#childUsage(event);
        break;
      case 'subagent.started':
        this.background.set(event.child, { call: event.call, skill: event.skill });
        break;
      case 'subagent.ended':
        this.background.delete(event.child);
        // Silence while children run is no empty answer.
        if (this.turn) this.turn.emptyNudges = 0;
        break;
      case 'message.received':
        this.inbox.push({ from: event.from, content: event.content });
        this.received.add(`${event.from.session} ${event.from.call}`);
        break;
    }
  }

  #user(event: StoredEvent & EventOf<'user.message'>): void {
    this.messages.push({ role: 'user', content: event.content, origin: event.origin });
    this.size.add(event.content.length);
    this.loadedSkills.said(event.content);
    if (event.origin === 'nudge' || event.origin === 'notice') {
      if (event.limit && this.turn) this.turn.limit = event.limit;
      if (event.about) this.turn?.asked.add(event.about);
      if (event.from) this.#read(event.from);
      return;
    }
    if (event.from) this.callers.add(`${event.from.session} ${event.from.call}`);
    this.lastRequest = { seq: event.seq, origin: event.origin, content: event.content };
    this.firstRequest ??= this.lastRequest;
    this.turn = {
      seq: event.seq,
      from: event.from,
      permissions: event.permissions,
      since: Date.parse(event.at),
      terms: event.terms,
      cancelling: undefined,
      hasBegun: false,
      steps: 0,
      usage: noUsage(),
      cost: 0,
      childUsage: noUsage(),
      childCost: 0,
      childSteps: 0,
      spawns: 0,
      emptyNudges: 0,
      asked: new Set(),
      lastText: '',
      limit: undefined,
      refusedBy: undefined,
    };
  }

  #read({ session, call }: InboxMessage['from']): void {
    const index = this.inbox.findIndex(({ from }) => from.session === session && from.call === call);
    if (index >= 0) this.inbox.splice(index, 1);
  }

  #assistant(event: StoredEvent & EventOf<'assistant.message'>): void {
    this.askedAt = Date.parse(event.at);
    const { text, reasoning, toolCalls, providerState } = event;
    const message: Message = { role: 'assistant', text, reasoning, toolCalls, providerState };
    this.messages.push(message);
    this.size.answered(sizeOf(message), event.usage);
    this.openCalls.clear();
    for (const call of toolCalls) {
      if (!this.callIds.has(call.id)) this.callIds.set(call.id, this.callIds.size);
      this.openCalls.set(call.id, call);
      this.#slots.set(call.id, this.messages.length);
      this.messages.push({ role: 'tool', callId: call.id, name: call.name, content: '', isError: false });
    }
    this.hostCall = event.finishReason === 'host';
    if (this.hostCall) return;
    this.steps++;
    this.#spend(event.usage, event.cost);
    if (!this.turn) return;
    this.turn.steps++;
    if (text.trim() !== '') this.turn.lastText = text;
    if (text.trim() === '' && toolCalls.length === 0) this.turn.emptyNudges++;
  }

  #result(event: EventOf<'tool.result'>): void {
    const slot = this.#slots.get(event.call);
    if (slot === undefined) return;
    const message = this.messages[slot] as ToolMessage;
    const { content, isError, images } = event;
    this.messages[slot] = { ...message, content, isError, ...(images ? { images } : {}) };
    this.#slots.delete(event.call);
    this.openCalls.delete(event.call);
    this.startedCalls.delete(event.call);
    this.size.add(resultSize(event));
    this.loadedSkills.answered(event);
    if (event.limit && this.turn) this.turn.refusedBy = event.limit;
    if (event.child) this.#child(event.child, event.call);
  }

  /** A call with several children has a `usage` for each; one with a single child names it in its result as well. */
  #child(ref: string, call: string): void {
    const last = this.children.at(-1);
    if (last?.ref !== ref || last.call !== call) this.children.push({ ref, call });
  }

  #childUsage(event: EventOf<'usage'>): void {
    this.#child(event.child, event.call);
    this.childUsage = addUsage(this.childUsage, event.usage);
    if (!this.turn) return;
    this.turn.childUsage = addUsage(this.turn.childUsage, event.usage);
    this.turn.childCost = addCost(this.turn.childCost, event.cost);
    this.turn.childSteps += event.steps;
    this.turn.spawns += event.spawns;
  }

  #compact(event: EventOf<'context.compacted'>): void {
    const messages = compactedMessages(this.messages, event);
    this.messages.length = 0;
    for (const message of messages) this.messages.push(message);
    for (const [call, slot] of this.#slots) {
      if (slot < event.replaced) this.#slots.delete(call);
      else this.#slots.set(call, slot - event.replaced + event.messages.length);
    }
    this.size.recount(messages);
    this.loadedSkills.keep(event.keptSkills);
    if (event.usage) this.#spend(event.usage, event.cost);
  }

  /** What a model call of this session took. */
  #spend(usage: Usage, cost: number | undefined): void {
    this.usage = addUsage(this.usage, usage);
    this.cost = addCost(this.cost, cost);
    if (!this.turn) return;
    this.turn.usage = addUsage(this.turn.usage, usage);
    this.turn.cost = addCost(this.turn.cost, cost);
  }
}
