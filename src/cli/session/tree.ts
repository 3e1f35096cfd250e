import type { Usage } from '../../core/usage.ts';
import type { SessionSummary } from '../../store/contract.ts';
import { limitJson, statusOf } from '../format.ts';
import { type Activity, elapsed, stateOf, waitingFor } from '../run/activity.ts';
import { type TreeLook, treeLines } from '../run/tree-lines.ts';
import type { Paint } from '../terminal.ts';
import { type SummaryJson, summaryJson } from './summary-json.ts';
import type { SessionWatch } from './watch.ts';

/** What the top of a tree of sessions is called. */
export const topName = ({ session, skill }: Pick<SessionSummary, 'session' | 'skill'>): string =>
  skill === undefined ? session : `${skill} ${session}`;

/** A session of a tree as JSON, with what is known of it and its children. */
interface TreeJson extends Partial<SummaryJson> {
  session: string;
  steps: number;
  max_steps: number | null;
  usage: Usage;
  cost: number | null;
  elapsed_ms: number;
  limit: Record<string, unknown> | null;
  reason: string | null;
  /** Calls that go on. */
  doing: string[];
  waiting_for: string[];
  waiting_for_slot: string[];
  children: TreeJson[];
}

/** Every session of the tree as JSON, children in their parents. */
export function treeJson(watch: SessionWatch): TreeJson {
  return activityJson(watch.tree.root, watch, Date.now());
}

const stateIn = (summary: SessionSummary, activity: Activity): string =>
  summary.status === 'open' ? stateOf(activity) : statusOf(summary);

function activityJson(activity: Activity, watch: SessionWatch, now: number): TreeJson {
  const summary = watch.summary(activity.session);
  const { children, slots } = waitingFor(activity);
  return {
    ...(summary ? summaryJson(summary, stateIn(summary, activity)) : { session: activity.session }),
    steps: activity.steps,
    max_steps: activity.maxSteps ?? null,
    usage: activity.usage,
    cost: activity.cost ?? null,
    elapsed_ms: elapsed(activity, now),
    limit: limitJson(activity.limit),
    reason: activity.reason ?? null,
    doing: [...activity.calls.values()].map(({ text }) => text),
    waiting_for: children.map(({ session }) => session),
    waiting_for_slot: slots,
    children: activity.children.map((child) => activityJson(child, watch, now)),
  };
}

export interface TreeTextLook {
  columns: number | undefined;
  paint: Paint;
}

/** A line a session, children below their parent. */
export function treeText(watch: SessionWatch, { columns, paint }: TreeTextLook): string[] {
  const { root } = watch.tree;
  const top = watch.summary(root.session);
  const look: TreeLook = {
    columns,
    paint,
    rows: Number.POSITIVE_INFINITY,
    now: Date.now(),
    top: topName(top ?? root),
    title: (session) => watch.summary(session)?.title,
    signs: false,
  };
  return treeLines(root, look);
}
