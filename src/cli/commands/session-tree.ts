import { totalTokens } from '../../core/usage.ts';
import { Thread } from '../../session/thread.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import type { Handler } from '../command.ts';
import type { readFlags } from '../commands.ts';
import { EXIT } from '../failure.ts';
import { plural, shortCount, statusOf } from '../format.ts';
import { dataColumns, print, printJson } from '../output.ts';
import { descendantsOf, findSession, withStore } from '../session/open-store.ts';
import { summaryJson } from '../session/summary-json.ts';
import { clipWidth, type Paint, paintFor, printableLine } from '../terminal.ts';

interface Node {
  summary: SessionSummary;
  thread: Thread;
  children: Node[];
}

export const sessionTree: Handler<typeof readFlags> = ({ flags, args }) =>
  withStore(flags, async (store) => {
    const top = await treeOf(store, await findSession(store, args[0]!));
    if (flags.json) printJson(nodeJson(top));
    else for (const line of linesOf(top, '', '', paintFor(process.stdout))) print(line);
    return EXIT.done;
  });

async function treeOf(store: SessionStore, top: SessionSummary): Promise<Node> {
  const nodes = new Map<string, Node>();
  for (const summary of await descendantsOf(store, top)) {
    const thread = Thread.fold(summary.session, await store.read(summary.session));
    const node: Node = { summary, thread, children: [] };
    nodes.set(summary.session, node);
    if (summary.parent) nodes.get(summary.parent.session)?.children.push(node);
  }
  return nodes.get(top.session)!;
}

function nodeJson({ summary, thread, children }: Node): Record<string, unknown> {
  return { ...summaryJson(summary), steps: thread.steps, usage: thread.usage, children: children.map(nodeJson) };
}

function* linesOf({ summary, thread, children }: Node, lead: string, below: string, paint: Paint): Generator<string> {
  const skill = summary.skill === undefined ? '' : `${printableLine(summary.skill)} `;
  const figures = `${plural(thread.steps, 'step')} · ${shortCount(totalTokens(thread.usage))} tokens`;
  const text = `${lead}${skill}${summary.session} · ${statusOf(summary)} · ${figures} · ${printableLine(summary.title)}`;
  const columns = dataColumns();
  const line = columns === undefined ? text : clipWidth(text, columns);
  yield statusOf(summary) === 'running' ? paint('cyan', line) : line;
  const last = children.at(-1);
  for (const child of children) {
    const isLast = child === last;
    yield* linesOf(child, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, paint);
  }
}
