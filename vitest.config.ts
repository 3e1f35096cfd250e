import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongFirst } from './test/helpers/long-first.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real processes, servers and browsers on a machine that others use as well: what fails once and not again is
    // told in the report, as retried, and stops nobody.
    retry: 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // On two cores the default is one worker, and most tests wait for processes and disks.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    sequence: { sequencer: LongFirst },
  },
});
