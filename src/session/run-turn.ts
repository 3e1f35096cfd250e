import { describeError, isCancellation, ReasonixError } from '../core/errors.ts';
import type { SessionEvent } from '../core/events.ts';
import { LimitReached, limitReason } from '../core/limits.ts';
import { Parked } from '../core/parked.ts';
import { prompt } from '../core/prompts.ts';
import { noUsage } from '../core/usage.ts';
import type { ModelReply } from '../models/contract.ts';
import { openingOf } from './chain.ts';
import { endAtLimit, loop, type TurnEnd } from './loop.ts';
import type { Session } from './session.ts';
import { Thread } from './thread.ts';
import type { Turn } from './turn.ts';
import { type TurnResult, turnResult } from './turn-result.ts';

/**
 * Runs a turn that has begun and writes down how it ended. `cut` says that an earlier process began it.
 * @throws whatever made an append fail: an end that cannot be logged has not happened.
 */
export async function runTurn(session: Session, turn: Turn, cut: boolean): Promise<TurnResult> {
  const { thread } = session;
  try {
    const begin = thread.hostCall ? hostTurn : modelTurn;
    let end = await outcome(session, turn, () => begin(session, turn, cut));
    // A message that came after the last answer is read before the turn ends.
    while (!(await turn.end(end)))
      end = await outcome(session, turn, () => withinLimits(session, turn, () => loop(turn)));
    return turnResult(end, thread.ended);
  } finally {
    await turn.close();
  }
}

async function outcome(session: Session, turn: Turn, work: () => Promise<TurnEnd>): Promise<TurnEnd> {
  try {
    return await work();
  } catch (error) {
    return failed(session, turn, error);
  }
}

function modelTurn(session: Session, turn: Turn, cut: boolean): Promise<TurnEnd> {
  const { thread, host } = session;
  return withinLimits(session, turn, async () => {
    // Cut right after its message, a turn has everything before it yet.
    if (cut && thread.turn?.hasBegun) {
      turn.launchChildren();
      await turn.runCalls([...thread.openCalls.values()], true);
      if (thread.turn?.limit) return await endAtLimit(turn, thread.turn.limit);
      return await loop(turn, unansweredReply(thread));
    }
    const { notices, events } = await openingOf(host.chain, turn);
    const messages = notices.map((content): SessionEvent => ({ type: 'user.message', origin: 'notice', content }));
    if (messages.length + events.length > 0) await session.append([...events, ...messages]);
    return await loop(turn);
  });
}

/** A limit that is reached in `work` ends the turn with a summing-up. */
async function withinLimits(session: Session, turn: Turn, work: () => Promise<TurnEnd>): Promise<TurnEnd> {
  try {
    return await work();
  } catch (error) {
    if (session.fatal || error instanceof Parked) throw error;
    if (LimitReached.isInstance(error, 'limit')) return await endAtLimit(turn, (error as LimitReached).hit);
    const time = turn.timedOut ? turn.budget.exhausted() : undefined;
    if (time) return await endAtLimit(turn, time);
    throw error;
  }
}

/** A turn that the host began with a call of its own: the call's answer is the turn's. */
async function hostTurn({ thread, host }: Session, turn: Turn, cut: boolean): Promise<TurnEnd> {
  await turn.runCalls([...thread.openCalls.values()], cut);
  if (turn.cancelled) throw turn.signal.reason;
  const last = thread.messages.at(-1);
  const content = last?.role === 'tool' ? last.content : '';
  const child = last?.role === 'tool' ? thread.children.findLast(({ call }) => call === last.callId) : undefined;
  // A call with several children has no answer but the one that puts theirs together.
  if (!child && last?.role === 'tool' && !last.isError) return { status: 'completed', answer: content };
  if (!child || (last?.role === 'tool' && last.isError && !content.includes(child.ref))) {
    const limit = thread.turn?.refusedBy;
    if (limit) return { status: 'limit', answer: '', reason: limitReason(limit), limit };
    return { status: 'failed', answer: '', reason: content };
  }
  const { lastTurn } = Thread.fold(child.ref, await host.store.read(child.ref));
  if (!lastTurn) return { status: 'failed', answer: '', reason: content };
  const { status, answer, reason, limit, structured } = lastTurn;
  return { status, answer, reason, limit, structured };
}

/** The model's last word, logged before the turn was cut. */
function unansweredReply(thread: Thread): ModelReply | undefined {
  const last = thread.messages.at(-1);
  if (last?.role !== 'assistant' || last.toolCalls.length > 0) return undefined;
  return { ...last, usage: noUsage(), model: '', finishReason: 'stop' };
}

async function failed(session: Session, turn: Turn, error: unknown): Promise<TurnEnd> {
  if (session.fatal) throw session.fatal;
  if (error instanceof Parked) throw error;
  const answer = partialText(error) || (session.thread.turn?.lastText ?? '');
  const isCancelled = turn.cancelled || isCancellation(error);
  const reason = isCancelled ? cancelReason(turn.signal) : describeError(error);
  await turn.closeCalls(prompt(isCancelled ? 'stopped-call' : 'interrupted-call'));
  await turn.stopChildren(prompt('parent-ended'));
  return { status: isCancelled ? 'cancelled' : 'failed', answer, reason };
}

/** What a stream had brought before it broke for good. */
function partialText(error: unknown): string {
  const text = ReasonixError.isInstance(error) ? error.details.partialText : undefined;
  return typeof text === 'string' ? text : '';
}

function cancelReason({ reason }: AbortSignal): string {
  return reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'cancelled';
}
