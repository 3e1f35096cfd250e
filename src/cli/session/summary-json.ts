import type { SessionSummary } from '../../store/contract.ts';
import { describeOwner } from '../../store/owner.ts';
import { statusOf } from '../format.ts';

/** A session as every `--json` of `session` prints it. */
export function summaryJson(summary: SessionSummary, state = statusOf(summary)) {
  const { session, kind, root, parent, skill, title, cwd, model, depth, createdAt, updatedAt, lastSeq, holder } =
    summary;
  return {
    session,
    kind,
    status: state.replace(' ', '_'),
    root,
    parent: parent?.session ?? null,
    skill: skill ?? null,
    title,
    cwd,
    model,
    depth,
    created_at: createdAt,
    updated_at: updatedAt,
    events: lastSeq,
    holder: holder === undefined ? null : describeOwner(holder),
  };
}

export type SummaryJson = ReturnType<typeof summaryJson>;
