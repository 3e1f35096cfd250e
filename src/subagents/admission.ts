import type { Budget } from '../core/budget.ts';
import { ReasonixError } from '../core/errors.ts';
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

  /** @throws ReasonixError `limit` when a child would be too deep, or one too many of the root turn. */
  check(parent: LiveSession): void {
    const depth = parent.session.info.depth + 1;
    if (depth > parent.maxDepth) {
      throw new ReasonixError('limit', prompt('depth-limit', { limit: parent.maxDepth }));
    }
    const hit = parent.budget.spawnsExhausted();
    if (hit) throw new ReasonixError('limit', prompt('spawn-limit', { limit: hit.limit, setBy: hit.setBy }));
  }

  /** Charges the child to the budgets above, lends the parent's slot and waits for a free one. */
  async enter(parent: LiveSession, budget: Budget, signal: AbortSignal): Promise<Admitted> {
    budget.charge({ spawns: 1 });
    parent.slot?.lend();
    const giveBack = async () => {
      // A parent that was cancelled meanwhile needs no slot to write its end.
      await parent.slot?.reclaim().catch(() => {});
    };
    try {
      const slot = await this.#slots.acquire(signal);
      const leave = async () => {
        slot.release();
        await giveBack();
      };
      return { slot, leave };
    } catch (error) {
      await giveBack();
      throw error;
    }
  }
}
