import { LimitReached } from '../core/budget.ts';
import { prompt } from '../core/prompts.ts';
import type { LiveSession } from './live.ts';
import type { Slot, Slots } from './slots.ts';

/** A child that may run: its place, and the parent's slot lent for as long as it does. */
export interface Admitted {
  slot: Slot;
  /** Gives the place back and waits until the parent may go on. */
  leave(): Promise<void>;
}

/**
 * The one place where children are let in, whoever asks for them: tool call, slash command, command
 * line, library, nested and continued ones alike (design §10).
 */
export class Admission {
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  /** @throws LimitReached when a child would be too deep, or one too many of the root turn. */
  check(parent: LiveSession): void {
    const hit = parent.budget.childRefused();
    if (!hit) return;
    const { which, limit, setBy } = hit;
    const text =
      which === 'depth'
        ? prompt('depth-limit', { limit: parent.session.info.depth, setBy })
        : prompt('spawn-limit', { limit, setBy });
    throw new LimitReached(hit, text);
  }

  /** Charges a child to its parent and the levels above, before it starts. */
  charge(parent: LiveSession): void {
    parent.budget.charge({ spawns: 1 });
  }

  /** Charges a child that its parent waits for, lends the parent's slot and waits for a free one. */
  async enter(parent: LiveSession, signal: AbortSignal): Promise<Admitted> {
    this.charge(parent);
    parent.slot?.lend();
    try {
      const slot = await this.#slots.acquire(signal);
      const leave = async () => {
        slot.release();
        await reclaim(parent);
      };
      return { slot, leave };
    } catch (error) {
      await reclaim(parent);
      throw error;
    }
  }

  /** Waits for a slot for a child that runs beside its parent, which keeps its own. */
  enterBeside(signal: AbortSignal): Promise<Slot> {
    return this.#slots.acquire(signal);
  }

  /** Lends the parent's slot while it waits for children that run beside it. */
  async lend<T>(parent: LiveSession, wait: () => Promise<T>): Promise<T> {
    parent.slot?.lend();
    try {
      return await wait();
    } finally {
      await reclaim(parent);
    }
  }
}

async function reclaim({ slot }: LiveSession): Promise<void> {
  // A parent that was cancelled meanwhile needs no slot to write its end.
  await slot?.reclaim().catch(() => {});
}
