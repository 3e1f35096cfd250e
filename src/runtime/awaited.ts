import type { ToolCall } from '../core/messages.ts';
import { toolAlias } from '../core/tool-names.ts';
import type { BackgroundHost } from '../session/background.ts';
import type { Thread } from '../session/thread.ts';
import type { SessionStore, SessionSummary } from '../store/contract.ts';
import { isListed } from '../store/list-all.ts';

const REFERENCE = /sa_[0-9a-z]{4,64}/gi;

/**
 * Which of a session's open children its turn waits for, as far as its log says; nothing for a turn that may
 * have something to do although they run. When in doubt it has: the turn itself finds out what there is.
 */
export function awaitedBy(
  thread: Thread,
  atEnd: BackgroundHost['atEnd'] | undefined,
): ((child: SessionSummary) => boolean) | undefined {
  const { openCalls, background, inbox } = thread;
  if (inbox.length > 0) return undefined;
  if (openCalls.size === 0) {
    return background.size > 0 && atEnd === 'wait' && isDone(thread)
      ? ({ session }) => background.has(session)
      : undefined;
  }
  const calls = [...openCalls.values()];
  if (calls.some(isUrgent)) return undefined;
  const named = calls.filter(({ name }) => toolAlias(name) === 'wait_subagents').map(referencesIn);
  const isWaitedFor = ({ session }: SessionSummary) =>
    background.has(session) && named.some((references) => references.size === 0 || references.has(session));
  return (child) => openCalls.has(child.parent?.call.split('#')[0] ?? '') || isWaitedFor(child);
}

/** Whether a turn waits for children that are open. A look, without setting the session up: a wake-up for each child is cheap. */
export async function waitsForChildren(
  store: SessionStore,
  thread: Thread,
  atEnd: BackgroundHost['atEnd'] | undefined,
): Promise<boolean> {
  const isAwaited = awaitedBy(thread, atEnd);
  if (!isAwaited) return false;
  return isListed(store, { open: true, parent: { session: thread.session } }, isAwaited);
}

/** The model has said its last word, and only its children keep the turn open. */
function isDone({ messages, turn }: Thread): boolean {
  const last = messages.at(-1);
  return (
    last?.role === 'assistant' &&
    last.toolCalls.length === 0 &&
    turn?.limit === undefined &&
    turn?.cancelling === undefined
  );
}

/** Calls that do something to children beside the turn, and waits that may be over before those have ended. */
function isUrgent({ name, arguments: text }: ToolCall): boolean {
  const tool = toolAlias(name);
  if (tool === 'run_skill') return text.includes('background');
  if (tool === 'wait_subagents') return text.includes('timeout') || text.includes('any');
  return tool === 'cancel_subagent' || tool === 'send_to_subagent';
}

const referencesIn = ({ arguments: text }: ToolCall): Set<string> =>
  new Set([...text.matchAll(REFERENCE)].map(([reference]) => reference));
