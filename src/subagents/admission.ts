import { type LimitHit, LimitReached, limitText } from '../core/limits.ts';
import { prompt } from '../core/prompts.ts';
import type { LiveSession } from './live.ts';
import type { Slot, Slots } from './slots.ts';

/** A child that may run: its place, and the parent's slot lent for as long as it does. */
export interface Admitted {
  /** Absent for one that is to end at once. */
  slot: Slot | undefined;
  /** Gives the place back and waits until the parent may go on. */
  leave(): Promise<void>;
}

/**
 * The one place where children are let in, whoever asks for them: tool call, slash command, command
 * line, library, nested and continued ones alike.
 */
export class Admission {
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  /**
   * `isCut` is a child that was let in before a crash: it goes on, or sums up.
   * @throws LimitReached when a child would be too deep, one too many of the root turn, or have nothing to spend.
   */
  check(parent: LiveSession, isCut: boolean): void {
    const hit = isCut ? undefined : (parent.budget.childRefused() ?? parent.budget.usedUp());
    if (hit) throw new LimitReached(hit, refusal(hit, parent));
  }

  /**
   * As `check`, for a child that others run: counted once for each call, over all processes of the tree.
   * @throws LimitReached
   */
  async admit(parent: LiveSession, call: string): Promise<void> {
    const { budget, session } = parent;
    const turn = session.thread.turn?.seq ?? 0;
    await budget.refresh();
    const hit = budget.usedUp() ?? (await budget.admit({ session: session.id, turn }, call));
    if (hit) throw new LimitReached(hit, refusal(hit, parent));
    this.charge(parent);
  }

  /** Charges a child to its parent and the levels above, before it starts. */
  charge(parent: LiveSession): void {
    parent.budget.charge({ spawns: 1 });
  }

  /**
   * Charges a child that its parent waits for, lends the parent's slot and waits for a free one.
   * @throws LimitReached when those before it have left nothing to spend.
   */
  async enter(parent: LiveSession, signal: AbortSignal, isCut: boolean): Promise<Admitted> {
    this.charge(parent);
    parent.slot?.lend();
    try {
      const slot = await this.#slots.acquire(signal);
      const hit = isCut ? undefined : parent.budget.usedUp();
      if (hit) {
        slot.release();
        parent.budget.charge({ spawns: -1 });
        throw new LimitReached(hit, refusal(hit, parent));
      }
      const leave = async () => {
        slot.release();
        await reclaim(parent);
      };
      return { slot, leave };
    } catch (error) {
      await reclaim(parent);
      // Told to end before it went on, it only writes that down.
      if (isCut && signal.aborted) return { slot: undefined, leave: async () => {} };
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

/** Why a child is not let in, in words for a model. */
function refusal(hit: LimitHit, { session }: LiveSession): string {
  const { which, limit, setBy } = hit;
  if (which === 'depth') return prompt('depth-limit', { limit: session.info.depth, setBy });
  if (which === 'spawns') return prompt('spawn-limit', { limit, setBy });
  return prompt('spent-limit', { which, limit: limitText(hit), setBy });
}

async function reclaim({ slot }: LiveSession): Promise<void> {
  // A parent that was cancelled meanwhile needs no slot to write its end.
  await slot?.reclaim().catch(() => {});
}
