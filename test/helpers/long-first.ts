import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The longest files, by how long they take alone; by their sizes, which is what vitest knows of new files, some would
 * come last. What harms processes by the second goes beside what mostly waits: it takes longer the slower they are.
 */
const LONG = [
  'engines/chaos',
  'runtime/unattended',
  'engines/redis-rate-limit',
  'engines/bullmq-conformance',
  'engines/bullmq',
  'cli/worker',
  'acceptance/kill',
  'examples/machines',
  'cli/run',
  'readme',
  'mcp/calls',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place < 0 ? LONG.length : place;
};

/** Starts the known long files first: one that is started last would leave the other workers idle. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((left, right) => rank(left) - rank(right));
  }
}
