import { describeError, isCancellation, ReasonixError } from '../core/errors.ts';
import type { LimitHit, LimitReached } from '../core/limits.ts';
import { allSettled, Parked } from '../core/parked.ts';
import { prompt } from '../core/prompts.ts';
import { neutralise } from '../skills/neutralise.ts';
import type { Skill, SkillBody } from '../skills/types.ts';
import type { SessionStore } from '../store/contract.ts';
import type { ToolOutcome } from '../tools/define-tool.ts';
import type { RunSkillInput } from '../tools/skill-service.ts';
import { usageEvent } from './child-end.ts';
import { isAnswered, itemsText } from './items-text.ts';
import type { LiveSession } from './live.ts';
import type { ChildResult } from './result-text.ts';
import type { SubagentRunner } from './runner.ts';

/** Most items of one call. */
export const MOST_ITEMS = 100;

export interface ItemsRequest {
  runner: SubagentRunner;
  store: SessionStore;
  parent: LiveSession;
  /** The tool call; the child of its n-th item, from 1, is found by `<call>#<n>`. */
  call: string;
  skill: Skill;
  body: SkillBody;
  input: RunSkillInput & { items: string[] };
  signal: AbortSignal;
  recovering: boolean;
  /** Most bytes that the result may have. */
  limit: number;
}

/** A child that ran to an end, or why there is none. */
type ItemEnd = { item: string; result: ChildResult; call: string } | { item: string; why: string; limit?: LimitHit };

/** @throws ReasonixError `skill_refused` for what `items` does not go with. */
export function checkItems(skill: Skill, input: RunSkillInput): void {
  const refuse = (name: string, slots: Record<string, string | number>) => {
    throw new ReasonixError('skill_refused', prompt(name, slots));
  };
  const count = input.items?.length ?? 0;
  if (skill.runAs === 'inline') refuse('items-inline', { name: neutralise(skill.name) });
  for (const other of ['continue_from', 'fork_from', 'background'] as const) {
    if (input[other]) refuse('items-alone', { with: other });
  }
  if (count === 0 || count > MOST_ITEMS) refuse('items-count', { count, most: MOST_ITEMS });
}

/**
 * Runs one child for each item, side by side as far as there is room, and gives all results in the order
 * of the items. An item that fails, or that no limit leaves room for, is one failed item.
 */
export async function runItems(request: ItemsRequest): Promise<ToolOutcome> {
  const { items } = request.input;
  const run = async (index: number) => {
    ends[index] = await runItem(request, items[index] ?? '', `${request.call}#${index + 1}`);
  };
  const ends: ItemEnd[] = [];
  const { before, others } = await startedBefore(request);
  // Those that were let in before a crash have their place; what is left of it goes to the others.
  // Also when some throw: those that are about to be made have to be there for the next run.
  await allSettled(before.map(run));
  await allSettled(others.map(run));
  const ran = ends.filter((end) => 'result' in end);
  const [first] = ends;
  if (ran.length === 0 && first && 'why' in first && ends.every((end) => 'why' in end && end.why === first.why)) {
    return { content: first.why, isError: true, limit: first.limit };
  }
  return {
    content: itemsText(ends, request.skill.name, request.limit),
    isError: !ran.some(({ result }) => isAnswered(result)),
    events: ran.map(({ call, result }) => usageEvent(call, result)),
  };
}

async function startedBefore({ store, parent, call, input, recovering }: ItemsRequest) {
  const all = input.items.map((_, index) => index);
  if (!recovering) return { before: [], others: all };
  const found = await Promise.all(
    all.map(async (index) => {
      const from = { session: parent.session.id, call: `${call}#${index + 1}` };
      return (await store.list({ parent: from }, { limit: 1 })).sessions.length > 0;
    }),
  );
  return { before: all.filter((index) => found[index]), others: all.filter((index) => !found[index]) };
}

async function runItem(request: ItemsRequest, item: string, call: string): Promise<ItemEnd> {
  const { runner, parent, skill, body, input, signal, recovering } = request;
  if (item.trim() === '') return { item, why: prompt('item-empty') };
  const shared = input.arguments?.trim() ?? '';
  const task = shared === '' ? item.trim() : `${shared}\n\n${item.trim()}`;
  try {
    const inputsFrom = input.inputs_from;
    const result = await runner.run({ parent, call, skill, body, task, inputsFrom, signal, recovering });
    return { item, result, call };
  } catch (error) {
    if (parent.session.fatal || error instanceof Parked) throw error;
    const why = isCancellation(error) || signal.aborted ? prompt('stopped-call') : describeError(error);
    const limit = ReasonixError.isInstance(error, 'limit') ? (error as LimitReached).hit : undefined;
    return limit ? { item, why, limit } : { item, why };
  }
}
