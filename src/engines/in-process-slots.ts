import PQueue from 'p-queue';
import type { Slot, Slots } from '../subagents/slots.ts';

/**
 * The slots of one process: at most `concurrency` children run at once. A slot is a task of a queue
 * that ends when the slot is given back; one that comes back from lending goes before new children.
 */
export function inProcessSlots(concurrency: number): Slots {
  const queue = new PQueue({ concurrency });

  function take(priority: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const occupy = () => new Promise<void>((free) => resolve(() => free()));
      queue.add(occupy, { priority, signal }).catch(reject);
    });
  }

  return {
    async acquire(signal) {
      let free: (() => void) | undefined = await take(0, signal);
      let lent = 0;
      let returning: Promise<void> = Promise.resolve();
      const slot: Slot = {
        lend() {
          lent++;
          free?.();
          free = undefined;
        },
        async reclaim() {
          lent--;
          if (lent > 0) return;
          returning = returning.then(async () => {
            if (lent > 0 || free) return;
            const taken = await take(1, signal);
            // It was lent again while it waited for its turn.
            if (lent > 0) taken();
            else free = taken;
          });
          await returning;
        },
        release() {
          free?.();
          free = undefined;
        },
      };
      return slot;
    },
  };
}
