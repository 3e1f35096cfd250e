import type { StoredEvent } from '../../core/events.ts';
import type { SessionStore, SessionSummary } from '../../store/contract.ts';
import { ActivityTree } from '../run/activity.ts';
import { descendantsOf, findSession } from './open-store.ts';

/** An event with the session it belongs to. */
export interface Seen {
  session: string;
  event: StoredEvent;
}

/**
 * A session and everything below it as the store has it, whoever runs it. Each look takes in what was
 * logged since the one before.
 */
export class SessionWatch {
  readonly tree: ActivityTree;
  readonly #store: SessionStore;
  readonly #top: string;
  #summaries = new Map<string, SessionSummary>();
  readonly #seen = new Map<string, number>();

  constructor(store: SessionStore, { session }: SessionSummary) {
    this.#store = store;
    this.#top = session;
    this.tree = new ActivityTree({ root: session });
  }

  /** Of the last look. */
  summary(session: string): SessionSummary | undefined {
    return this.#summaries.get(session);
  }

  /** Nobody works on it: its turn has an end, and so has every turn below that somebody runs. */
  get isOver(): boolean {
    const top = this.#summaries.get(this.#top);
    if (!top || top.status === 'open' || (top.status === 'idle' && top.holder !== undefined)) return false;
    return ![...this.#summaries.values()].some(({ status, holder }) => status === 'open' && holder !== undefined);
  }

  /** Its turn was cut, and nobody has gone on with it yet. */
  get isCut(): boolean {
    const top = this.#summaries.get(this.#top);
    return top?.status === 'open' && top.holder === undefined;
  }

  /** `taken` is called after each new event, in the order of time. */
  async look(taken: (seen: Seen) => void = () => {}): Promise<void> {
    const summaries = await descendantsOf(this.#store, await findSession(this.#store, this.#top));
    const news: Seen[] = [];
    for (const { session, lastSeq } of summaries) {
      const from = this.#seen.get(session) ?? 0;
      if (lastSeq <= from) continue;
      const events = await this.#store.read(session, from);
      // What cannot be read is reported by the store once and not asked for again.
      this.#seen.set(session, Math.max(lastSeq, events.at(-1)?.seq ?? 0));
      news.push(...events.map((event) => ({ session, event })));
    }
    this.#summaries = new Map(summaries.map((summary) => [summary.session, summary]));
    // Parents come first in `summaries`, and a sort keeps the order of what is equal.
    for (const seen of news.sort((one, other) => timeOf(one) - timeOf(other))) {
      this.tree.observe({ kind: 'event', ...seen });
      taken(seen);
    }
    for (const { session, status, holder } of summaries) {
      const activity = this.tree.get(session);
      if (activity) activity.isHeld = status !== 'open' || holder !== undefined;
    }
  }
}

const timeOf = ({ event }: Seen): number => Date.parse(event.at);
