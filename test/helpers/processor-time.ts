/**
 * Milliseconds of processor time that this process has taken. What guards against work that grows with
 * the square of its input is held against this: the clock on the wall also counts what others do.
 */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
