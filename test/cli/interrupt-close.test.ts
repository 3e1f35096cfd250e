import { expect, it, onTestFinished, vi } from 'vitest';
import { Interrupt } from '../../src/cli/run/interrupt.ts';

it('leaves a chat alone in which the turn has ended in time', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => {}) as () => never);
  onTestFinished(() => exit.mockRestore());
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => said.mockRestore());
  for (const ends of [true, false]) {
    const interrupt = new Interrupt(() => {});
    process.emit('SIGINT');
    expect(interrupt.signal.aborted).toBe(true);
    if (ends) interrupt.close();
    await vi.advanceTimersByTimeAsync(10_000);
    interrupt.close();
    expect(exit).toHaveBeenCalledTimes(ends ? 0 : 1);
  }
});
