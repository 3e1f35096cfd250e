import { z } from 'zod';
import {
  caller,
  limitHit,
  limits,
  narrowed,
  number,
  optionalFlag,
  optionalNumber,
  optionalText,
  terms,
  text,
  texts,
  toolDefinition,
  usage,
} from './event-parts.ts';

/**
 * The session log. Every event is validated when it is written and when it is read; state is a fold
 * over the events and nothing else. Additions must be optional: old logs stay readable.
 */

const sessionStarted = z.object({
  type: z.literal('session.started'),
  session: text,
  kind: z.enum(['root', 'child']),
  /** The root of the session tree; a root names itself. */
  root: text,
  parent: caller.optional(),
  skill: z.object({ name: text, hash: text, path: text }).optional(),
  /** The skills that the session keeps, on every machine: the hash of a packed library in the store. */
  library: optionalText,
  forkedFrom: z.object({ session: text, seq: number }).optional(),
  /** Frozen for the life of the session, like `tools`: the prefix of every request. */
  system: text,
  tools: z.array(toolDefinition),
  model: z.object({ provider: text, name: text, effort: optionalText }),
  budget: limits,
  depth: number,
  cwd: text,
  /** Only workers with this tag run it; children take it over. */
  tag: optionalText,
  /** The child's answer must be JSON of this schema. */
  outputSchema: z.record(text, z.unknown()).optional(),
  /** What the skills above and this one leave: every list of `grants` must allow a call, none of `deny` may match. */
  permissions: narrowed.optional(),
  /** Required skills of this session, on top of those that files and configuration name. */
  required: texts.optional(),
});

const userMessage = z.object({
  type: z.literal('user.message'),
  origin: z.enum(['user', 'task', 'continuation', 'nudge', 'notice']),
  content: text,
  /** For a task, a continuation or a message out of the inbox: the call that sent it. */
  from: caller.optional(),
  /** What a caller that may do less than the session lets it do in this turn. */
  permissions: narrowed.optional(),
  /** For the notice that brings the result of a background child: its reference. */
  child: optionalText,
  /** For the notice that asks for a summing-up: the limit that was reached. */
  limit: limitHit.optional(),
  /** For a nudge: what it asks for, so that a turn is asked once. */
  about: optionalText,
  /** For the message that begins a turn which other processes may run. */
  terms: terms.optional(),
});

const assistantMessage = z.object({
  type: z.literal('assistant.message'),
  text,
  reasoning: optionalText,
  toolCalls: z.array(
    z.object({
      id: text,
      name: text,
      arguments: text,
      /** The answer was cut in the middle of the call: it is answered, never run. */
      isCut: optionalFlag,
    }),
  ),
  providerState: z.unknown().optional(),
  usage,
  /** Absent when the provider's price is not known. */
  cost: optionalNumber,
  model: text,
  finishReason: text,
  /** `provider/model` that was asked first, when a fallback model answered in its place. */
  fallbackFrom: optionalText,
});

const toolStarted = z.object({
  type: z.literal('tool.started'),
  call: text,
  name: text,
  effects: z.enum(['write', 'agent']),
});

const toolResult = z.object({
  type: z.literal('tool.result'),
  call: text,
  name: text,
  content: text,
  isError: z.boolean(),
  /** The child session that answered. */
  child: optionalText,
  /** The limit that kept a child from being started. */
  limit: limitHit.optional(),
  /** The whole text when `content` was clipped; `read_result` pages through it. */
  full: optionalText,
  /** Pictures, in base64. */
  images: z.array(z.object({ mediaType: text, data: text })).optional(),
});

const skillLoaded = z.object({
  type: z.literal('skill.loaded'),
  name: text,
  hash: text,
  /** `items` is a run as a sub-agent, one for each item. */
  via: z.enum(['run_skill', 'items', 'read_skill', 'user', 'nudge', 'inject', 'force', 'system', 'preload']),
});

const requiredNudged = z.object({ type: z.literal('required.nudged'), names: texts, count: number });

const skillSwitched = z.object({ type: z.literal('skill.switched'), name: text, enabled: z.boolean() });

/** The set of runnable skills changed since the last look; a notice told the model. */
const skillsChanged = z.object({
  type: z.literal('skills.changed'),
  added: texts,
  removed: texts,
  changed: texts,
  fingerprint: text,
});

/** Tools of MCP servers that came or went after the session's were frozen; a notice told the model. */
const toolsChanged = z.object({
  type: z.literal('tools.changed'),
  added: texts,
  removed: texts,
});

const contextCompacted = z.object({
  type: z.literal('context.compacted'),
  /** So many of the oldest messages of the thread are replaced by `messages`. */
  replaced: number,
  messages: z.array(
    z.object({
      role: z.literal('user'),
      origin: z.enum(['user', 'task', 'continuation', 'notice']),
      content: text,
    }),
  ),
  /** Skills whose bodies are still in the context, word for word. */
  keptSkills: z.array(z.object({ name: text, hash: text })),
  /** Results after the replaced messages that are this text from now on; their `tool.result` keeps the whole one. */
  reduced: z.array(z.object({ call: text, content: text })).optional(),
  /** The window was filling up, the provider refused the request for its length, or somebody asked. */
  reason: z.enum(['window', 'overflow', 'asked']).optional(),
  /** Tokens of the context, estimated. */
  before: optionalNumber,
  after: optionalNumber,
  /** What the summary took, and who made it; absent when no model was asked. */
  usage: usage.optional(),
  cost: optionalNumber,
  model: optionalText,
});

const turnStatus = z.enum(['completed', 'failed', 'cancelled', 'limit', 'no_answer']);

const turnEnded = z.object({
  type: z.literal('turn.ended'),
  status: turnStatus,
  answer: text,
  reason: optionalText,
  limit: limitHit.optional(),
  /** The answer is JSON that fits the `outputSchema` of the session. */
  structured: optionalFlag,
});

/** Somebody wants the turn to end; it does when the children that were told so have ended. */
const turnCancelling = z.object({ type: z.literal('turn.cancelling'), reason: text });

/** What a child's turn cost, once, at the call that started or continued it. */
const childUsage = z.object({
  type: z.literal('usage'),
  call: text,
  child: text,
  /** The child and everything below it. */
  usage,
  cost: optionalNumber,
  steps: number,
  spawns: number,
});

/** A child runs beside the turn from here on; logged together with the result that names it. */
const subagentStarted = z.object({
  type: z.literal('subagent.started'),
  call: text,
  child: text,
  skill: text,
  background: z.literal(true),
});

/**
 * The result of a background child is in the thread: logged together with its `usage` and with the
 * notice, or the result of a call, that holds the text.
 */
const subagentEnded = z.object({
  type: z.literal('subagent.ended'),
  call: text,
  child: text,
  status: turnStatus,
});

/** A message for a child that runs, in the child's log: its inbox until a `user.message` of the same `from`. */
const messageReceived = z.object({ type: z.literal('message.received'), from: caller, content: text });

/** The child works in a git worktree of its own from here on. */
const worktreeStarted = z.object({
  type: z.literal('worktree.started'),
  /** The worktree, and where in it the child works. */
  folder: text,
  cwd: text,
  /** The working folder of the caller, the working tree around it, and what its worktrees share. */
  caller: text,
  repository: text,
  common: text,
  /** The commit that is checked out, and the one whose files were there at the start. */
  head: text,
  base: text,
});

/** What the files of the worktree differ in from its base. */
const worktreeDiff = z.object({
  type: z.literal('worktree.diff'),
  files: number,
  stat: text,
  bytes: number,
  /** SHA-256 of the diff, hex. */
  hash: text,
  /** The diff itself; absent when it is large, or no UTF-8: then it stands in a file. */
  diff: optionalText,
});

/** The worktree is gone; a child that goes on gets another one. */
const worktreeClosed = z.object({
  type: z.literal('worktree.closed'),
  how: z.enum(['applied', 'discarded', 'unchanged']),
});

export const eventSchema = z.discriminatedUnion('type', [
  sessionStarted,
  userMessage,
  assistantMessage,
  toolStarted,
  toolResult,
  skillLoaded,
  requiredNudged,
  skillSwitched,
  skillsChanged,
  toolsChanged,
  contextCompacted,
  turnEnded,
  turnCancelling,
  childUsage,
  subagentStarted,
  subagentEnded,
  messageReceived,
  worktreeStarted,
  worktreeDiff,
  worktreeClosed,
]);

/** An event as it is handed to `append`. */
export type SessionEvent = z.infer<typeof eventSchema>;
export type EventType = SessionEvent['type'];
export type EventOf<T extends EventType> = Extract<SessionEvent, { type: T }>;

/** An event as it stands in the log: `seq` counts from 1 without gaps, `at` is ISO 8601 in UTC. */
export type StoredEvent = SessionEvent & { seq: number; at: string };

export type TurnStatus = EventOf<'turn.ended'>['status'];
