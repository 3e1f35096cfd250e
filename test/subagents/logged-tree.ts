import type { Budget } from '../../src/core/budget.ts';
import type { EventOf, SessionEvent } from '../../src/core/events.ts';
import { newSessionId } from '../../src/core/ids.ts';
import { noUsage } from '../../src/core/usage.ts';
import { forkHistory } from '../../src/session/fork.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { type Tree, type TreeLedger, turnKey } from '../../src/subagents/tree-ledger.ts';
import { started } from '../store/samples.ts';

type Above = NonNullable<EventOf<'user.message'>['terms']>['above'];

/** A turn of a tree that is acted out: its log is written, and a ledger is told, as sessions do it. */
export interface ActedTurn {
  session: string;
  turn: number;
  path: string[];
  /** Undefined for one that runs in the process of its caller. */
  above: Above | undefined;
  parent: { turn: ActedTurn; call: string } | undefined;
  tokens: number;
  cost: number;
  open: boolean;
}

export class LoggedTree {
  readonly store = memoryStore();
  readonly turns: ActedTurn[] = [];
  readonly #ledger: () => TreeLedger;
  #calls = 0;
  tree: Tree = { root: '', turn: 0 };

  /** `ledger` is asked for at every step. */
  constructor(ledger: () => TreeLedger) {
    this.#ledger = ledger;
  }

  /** A root with an earlier turn, of which nothing counts. */
  async begin(): Promise<ActedTurn> {
    const root = newSessionId();
    await this.#append(root, started(root), { type: 'user.message', origin: 'user', content: 'before' });
    await this.#append(root, said(1_000, 9, ['earlier']));
    const child = newSessionId();
    const from = { session: root, call: 'earlier' };
    await this.#append(
      child,
      started(child, { kind: 'child', root, parent: from, depth: 1 }),
      { type: 'user.message', origin: 'task', content: 'x', from },
      said(500, 3),
      ended,
    );
    await this.#append(root, ended);
    const turn = await this.#append(root, { type: 'user.message', origin: 'user', content: 'now', terms: terms([]) });
    this.tree = { root, turn };
    return this.#began({ session: root, turn, above: [], parent: undefined, path: [turnKey({ session: root, turn })] });
  }

  async step(turn: ActedTurn, tokens: number, cost: number): Promise<void> {
    turn.tokens += tokens;
    turn.cost += cost;
    // Before it is logged, as it is done in a turn.
    await this.#ledger().record(this.tree, turn.path, { tokens: turn.tokens, cost: turn.cost });
    await this.#append(turn.session, said(tokens, cost));
  }

  async compact(turn: ActedTurn, tokens: number): Promise<void> {
    turn.tokens += tokens;
    const usage = { ...noUsage(), input: tokens };
    await this.#append(turn.session, {
      type: 'context.compacted',
      replaced: 0,
      messages: [],
      keptSkills: [],
      usage,
      cost: 0,
    });
    await this.#ledger().record(this.tree, turn.path, { tokens: turn.tokens, cost: turn.cost });
  }

  /** Starts a child, or continues or copies an earlier one. */
  async spawn(turn: ActedTurn, how: 'elsewhere' | 'here', source?: ActedTurn, copy = false): Promise<ActedTurn> {
    const asked = `call${++this.#calls}`;
    const call = this.#calls % 3 === 0 ? `${asked}#2` : asked;
    await this.#append(turn.session, said(0, 0, [asked]));
    await this.#ledger().admit(this.tree, turn.path, call, []);
    const from = { session: turn.session, call };
    const session = source && !copy ? source.session : newSessionId();
    if (session !== source?.session) {
      const more = source && { forkedFrom: { session: source.session, seq: 1 } };
      const first = started(session, { kind: 'child', root: this.tree.root, parent: from, depth: 1, ...more });
      const history = source ? forkHistory(source.session, await this.store.read(source.session)) : [];
      await this.#append(session, first, ...history);
    }
    const above = how === 'here' || !turn.above ? undefined : [...turn.above, levelOf(turn)];
    const message = { type: 'user.message', origin: 'task', content: 'x', from } as const;
    const begun = await this.#append(session, above ? { ...message, terms: terms(above) } : message);
    const base = turn.above ? turn.path : turn.path.slice(0, -1);
    const path = [...base, turnKey({ session, turn: begun })];
    return this.#began({ session, turn: begun, above, parent: { turn, call }, path });
  }

  /** Ends a turn, and tells its parent when that still runs. */
  async end(turn: ActedTurn): Promise<void> {
    turn.open = false;
    await this.#append(turn.session, ended);
    const { parent } = turn;
    if (!parent?.turn.open) return;
    const usage = { ...noUsage(), input: turn.tokens };
    await this.#append(parent.turn.session, {
      type: 'usage',
      call: parent.call,
      child: turn.session,
      usage,
      cost: turn.cost,
      steps: 1,
      spawns: 1,
    });
  }

  #began(turn: Omit<ActedTurn, 'tokens' | 'cost' | 'open'>): ActedTurn {
    const begun = { ...turn, tokens: 0, cost: 0, open: true };
    this.turns.push(begun);
    return begun;
  }

  /** Gives the sequence number of the last event. */
  async #append(session: string, ...events: SessionEvent[]): Promise<number> {
    const { length } = await this.store.read(session);
    await this.store.append(session, length, events);
    return length + events.length;
  }
}

/** What every level has spent by a ledger. */
export async function levelsBy(ledger: TreeLedger, { tree, turns }: LoggedTree): Promise<Record<string, unknown>> {
  const keys = turns.map(turnKey);
  const spent = await ledger.spent(tree, keys);
  return Object.fromEntries(keys.map((key, index) => [key, spent[index]]));
}

/** What every level has spent by the plain sum over the turns below it. */
export function levelsOf({ turns }: LoggedTree): Record<string, unknown> {
  const sum = (level: ActedTurn) => {
    const below = turns.filter(({ path }) => path.includes(turnKey(level)));
    return {
      tokens: below.reduce((all, { tokens }) => all + tokens, 0),
      cost: below.reduce((all, { cost }) => all + cost, 0),
      spawns: turns.filter(({ parent }) => parent?.turn.path.includes(turnKey(level))).length,
    };
  };
  return Object.fromEntries(turns.map((turn) => [turnKey(turn), sum(turn)]));
}

/** Whole numbers, so that sums are exact. */
const said = (tokens: number, cost: number, calls: string[] = []): SessionEvent => ({
  type: 'assistant.message',
  text: 'x',
  toolCalls: calls.map((id) => ({ id, name: 'run_skill', arguments: '{}' })),
  usage: { ...noUsage(), input: tokens },
  cost,
  model: 'm',
  finishReason: 'stop',
});

const ended: SessionEvent = { type: 'turn.ended', status: 'completed', answer: 'x' };

const levelOf = ({ session, turn }: ActedTurn) => ({ session, turn, since: 0, limits: {}, setBy: {} });

const terms = (above: Above) => ({ limits: {}, setBy: {}, above });

/** As the middleware does it: asks before, records after. Gives false when there was no room. */
export async function budgetStep(
  budget: Budget,
  turn: { session: string; turn: number; tokens: number },
  tokens: number,
): Promise<boolean> {
  await budget.refresh();
  if (budget.exhausted()) return false;
  await new Promise((resolve) => setImmediate(resolve));
  budget.charge({ steps: 1, tokens });
  turn.tokens += tokens;
  await budget.record(turn, { tokens: turn.tokens, cost: 0 });
  return true;
}
