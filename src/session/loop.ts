import type { EventOf } from '../core/events.ts';
import { type LimitHit, LimitReached, limitReason } from '../core/limits.ts';
import type { ModelReply } from '../models/contract.ts';
import type { Turn } from './turn.ts';

/** How a turn ends, before it is written down. */
export type TurnEnd = Omit<EventOf<'turn.ended'>, 'type'>;

/**
 * The loop: ask the model, run what it asked for, ask again; when it asks for nothing, take in what
 * still comes from children and messages, then ask the chain whether the turn may end. `reply` is an answer that was logged before the turn was cut.
 */
export async function loop(turn: Turn, reply?: ModelReply): Promise<TurnEnd> {
  let current = reply;
  for (;;) {
    current ??= await turn.ask();
    if (current.toolCalls.length > 0) {
      await turn.runCalls(current.toolCalls);
    } else if (!(await turn.takeInAll())) {
      const verdict = await turn.verdict(current);
      if (verdict.kind === 'end') return turn.shaped(answered(current.text, turn));
      if (verdict.kind === 'fail') return { status: 'failed', answer: current.text, reason: verdict.reason };
      const { origin, message, about, events = [] } = verdict;
      await turn.append([...events, { type: 'user.message', origin, content: message, about }]);
    }
    current = undefined;
  }
}

/** The end of a turn at a limit: what was found so far, in the model's own words if it has any. */
export async function endAtLimit(turn: Turn, hit: LimitHit): Promise<TurnEnd> {
  await turn.closeCalls(new LimitReached(hit).message);
  await turn.stopChildren(limitReason(hit));
  // A child that waited until others had spent everything has nothing that a call could sum up. One whose
  // callers have nothing left gives what it has: the step that a limit grants is theirs.
  const { steps, lastText } = turn.thread.turn ?? { steps: 0, lastText: '' };
  const isGranted = (steps > 0 || hit.which === 'time') && !turn.budget.usedUpAbove();
  const answer = isGranted ? await turn.sumUp(hit) : lastText;
  return turn.shaped({ status: 'limit', answer, reason: limitReason(hit), limit: hit });
}

/** An empty last message falls back on what the model said before; an empty success does not exist. */
function answered(text: string, turn: Turn): TurnEnd {
  if (text.trim() !== '') return { status: 'completed', answer: text };
  const earlier = turn.thread.turn?.lastText ?? '';
  if (earlier !== '') return { status: 'completed', answer: earlier };
  return { status: 'no_answer', answer: '', reason: 'the model gave no visible answer, also after it was asked once' };
}
