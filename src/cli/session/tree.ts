import { totalTokens } from '../../core/usage.ts';
import { Thread } from '../../session/thread.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { plural, shortCount, statusOf } from '../format.ts';
import { clipWidth, type Paint, printableLine } from '../terminal.ts';
import { descendantsOf } from './open-store.ts';
import { summaryJson } from './summary-json.ts';

/** A session with its log folded, and its sub-agents. */
export interface SessionTree {
  summary: SessionSummary;
  thread: Thread;
  children: SessionTree[];
}

export async function readTree(store: SessionStore, top: SessionSummary): Promise<SessionTree> {
  const nodes = new Map<string, SessionTree>();
  for (const summary of await descendantsOf(store, top)) {
    const thread = Thread.fold(summary.session, await store.read(summary.session));
    const node: SessionTree = { summary, thread, children: [] };
    nodes.set(summary.session, node);
    if (summary.parent) nodes.get(summary.parent.session)?.children.push(node);
  }
  return nodes.get(top.session)!;
}

export function treeJson({ summary, thread, children }: SessionTree): Record<string, unknown> {
  return { ...summaryJson(summary), steps: thread.steps, usage: thread.usage, children: children.map(treeJson) };
}

export interface TreeTextLook {
  columns: number | undefined;
  paint: Paint;
}

/** A line a session, children below their parent. */
export function* treeText(tree: SessionTree, look: TreeTextLook, lead = '', below = ''): Generator<string> {
  const { summary, thread, children } = tree;
  const skill = summary.skill === undefined ? '' : `${printableLine(summary.skill)} `;
  const figures = `${plural(thread.steps, 'step')} · ${shortCount(totalTokens(thread.usage))} tokens`;
  const text = `${lead}${skill}${summary.session} · ${statusOf(summary)} · ${figures} · ${printableLine(summary.title)}`;
  const line = look.columns === undefined ? text : clipWidth(text, look.columns);
  yield statusOf(summary) === 'running' ? look.paint('cyan', line) : line;
  const last = children.at(-1);
  for (const child of children) {
    const isLast = child === last;
    yield* treeText(child, look, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`);
  }
}
