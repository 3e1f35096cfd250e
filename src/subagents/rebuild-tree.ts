import type { StoredEvent } from '../core/events.ts';
import { totalTokens } from '../core/usage.ts';
import type { SessionStore, SessionSummary } from '../store/contract.ts';
import type { Caller } from './child-log.ts';
import { type LoggedTurn, type Tree, turnKey } from './tree-ledger.ts';

/** How far the clocks of machines may be apart, in milliseconds. */
const SKEW = 10 * 60_000;

/** Logs that are read at once. */
const AT_ONCE = 8;

/** A turn of a session as its log has it. */
interface Turn {
  session: string;
  turn: number;
  from: Caller | undefined;
  /** The turns above it, where other processes may run it. */
  above: readonly { session: string; turn: number }[] | undefined;
  tokens: number;
  cost: number;
  /** Ids of the calls that it has made. */
  asked: string[];
  /** Those that are known to have started or continued a child. */
  calls: Set<string>;
}

/**
 * What the logs say of a tree: every turn that the root's turn has led to, with what it has spent itself and
 * the calls that started or continued a child. The root's own comes first.
 */
export async function rebuildTree(store: SessionStore, tree: Tree): Promise<LoggedTurn[]> {
  const rootLog = await store.read(tree.root);
  const rootTurns = turnsOf(tree.root, rootLog);
  const root = rootTurns.find(({ turn }) => turn === tree.turn);
  if (!root) return [];
  const since = Date.parse(rootLog.find(({ seq }) => seq === tree.turn)?.at ?? '') - SKEW;
  const started = rootLog.find((event) => event.type === 'session.started');
  const sessions = await sessionsOf(store, started?.root ?? tree.root, since);
  const others = sessions.filter(({ session }) => session !== tree.root);
  const turns = [...rootTurns, ...(await readTurns(store, others))];
  const callers = new Map(turns.flatMap((turn) => turn.asked.map((call) => [callKey(turn.session, call), turn])));
  const callerOf = ({ session, call }: Caller): Turn | undefined =>
    callers.get(callKey(session, call)) ?? callers.get(callKey(session, call.replace(/#\d+$/, '')));

  for (const { from } of turns) if (from) callerOf(from)?.calls.add(from.call);
  // One that was made, and cut before its task was logged.
  for (const { parent } of others) if (parent) callerOf(parent)?.calls.add(parent.call);

  const found: LoggedTurn[] = [];
  for (const turn of turns) {
    const path = pathOf(turn, root, callerOf);
    const { tokens, cost, calls } = turn;
    if (path) found.push({ path, spent: { tokens, cost }, calls: [...calls] });
  }
  return found.sort((left, right) => left.path.length - right.path.length);
}

/** The levels of a turn, or nothing for one of another turn of the root. */
function pathOf(turn: Turn, root: Turn, callerOf: (from: Caller) => Turn | undefined): string[] | undefined {
  const seen = new Set<Turn>();
  for (let at: Turn | undefined = turn; at && !seen.has(at); at = at.from && callerOf(at.from)) {
    seen.add(at);
    if (at !== root && !at.above) continue;
    const levels = at === root ? [root] : [...(at.above ?? []), at];
    const [first] = levels;
    if (!first || turnKey(first) !== turnKey(root)) return undefined;
    // What runs in the process of its caller has its level right below the one that the process runs.
    return (at === turn ? levels : [...levels, turn]).map(turnKey);
  }
  return undefined;
}

const callKey = (session: string, call: string): string => `${session} ${call}`;

/** The sessions of a tree that have gone on since then. */
async function sessionsOf(store: SessionStore, root: string, since: number): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  for (let cursor: string | undefined; ; ) {
    const { sessions, next } = await store.list({ root }, { limit: 1000, order: 'newest', by: 'updated', cursor });
    const recent = sessions.filter(({ updatedAt }) => Date.parse(updatedAt) >= since);
    found.push(...recent);
    if (next === undefined || recent.length < sessions.length) return found;
    cursor = next;
  }
}

async function readTurns(store: SessionStore, sessions: readonly SessionSummary[]): Promise<Turn[]> {
  const found: Turn[] = [];
  for (let start = 0; start < sessions.length; start += AT_ONCE) {
    const some = sessions.slice(start, start + AT_ONCE);
    const logs = await Promise.all(some.map(({ session }) => store.read(session)));
    for (const [index, { session }] of some.entries()) found.push(...turnsOf(session, logs[index] ?? []));
  }
  return found;
}

/** Each turn of a log. What a copy has of its source has cost it nothing, and has started nothing. */
function turnsOf(session: string, events: readonly StoredEvent[]): Turn[] {
  const found: Turn[] = [];
  let turn: Turn | undefined;
  for (const event of events) {
    switch (event.type) {
      case 'user.message':
        if (event.origin === 'nudge' || event.origin === 'notice') break;
        turn = {
          session,
          turn: event.seq,
          from: event.from,
          above: event.terms?.above,
          tokens: 0,
          cost: 0,
          asked: [],
          calls: new Set(),
        };
        found.push(turn);
        break;
      case 'assistant.message':
        turn?.asked.push(...event.toolCalls.map(({ id }) => id));
        spend(turn, event);
        break;
      case 'context.compacted':
        spend(turn, event);
        break;
      case 'usage':
      case 'subagent.started':
        turn?.calls.add(event.call);
        break;
      case 'turn.ended':
        turn = undefined;
        break;
    }
  }
  return found;
}

function spend(
  turn: Turn | undefined,
  { usage, cost = 0 }: { usage?: Parameters<typeof totalTokens>[0] | undefined; cost?: number | undefined },
): void {
  if (!turn || !usage) return;
  turn.tokens += totalTokens(usage);
  turn.cost += cost;
}
