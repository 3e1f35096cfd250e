import PQueue from 'p-queue';
import { allSettled } from '../core/parked.ts';
import type { ToolEffects } from '../tools/define-tool.ts';

/** Reads of one step that run at once: each may hold files and processes, and systems allow 256 files. */
const MOST_READS = 32;

/**
 * Runs the calls of one step. `read` and `agent` calls run side by side; children wait for each other
 * where they are admitted. A `write` call waits for
 * everything before it and holds back everything after it. A call that throws does not stop its
 * siblings: they are waited for, then the first error is thrown.
 */
export async function schedule<Call extends { effects: ToolEffects }>(
  calls: readonly Call[],
  run: (call: Call) => Promise<void>,
): Promise<void> {
  const reads = new PQueue({ concurrency: MOST_READS });
  let running: Promise<void>[] = [];
  const drain = async () => {
    const all = running;
    running = [];
    await allSettled(all);
  };
  for (const call of calls) {
    if (call.effects === 'write') {
      await drain();
      await run(call);
    } else {
      const started = call.effects === 'read' ? reads.add(() => run(call)) : run(call);
      started.catch(() => {});
      running.push(started);
    }
  }
  await drain();
}
