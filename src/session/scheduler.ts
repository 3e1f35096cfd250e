import type { ToolEffects } from '../tools/define-tool.ts';

/**
 * Runs the calls of one step. `read` and `agent` calls run side by side; a `write` call waits for
 * everything before it and holds back everything after it. A call that throws does not stop its
 * siblings: they are waited for, then the first error is thrown.
 */
export async function schedule<Call extends { effects: ToolEffects }>(
  calls: readonly Call[],
  run: (call: Call) => Promise<void>,
): Promise<void> {
  let running: Promise<void>[] = [];
  const drain = async () => {
    const settled = await Promise.allSettled(running);
    running = [];
    const failure = settled.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  };
  for (const call of calls) {
    if (call.effects === 'write') {
      await drain();
      await run(call);
    } else {
      const started = run(call);
      started.catch(() => {});
      running.push(started);
    }
  }
  await drain();
}
