import { getHeapSpaceStatistics } from 'node:v8';
import { keepHeapSmall } from '../../src/cli/worker/small-heap.ts';

/** Makes much that is soon garbage, as a worker may, and says how large the young part of the heap has become. */
keepHeapSmall();
const kept: string[][] = [];
for (let round = 0; round < 300_000; round++) kept[round % 20_000] = [`text ${round}`];
process.stdout.write(`${getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size}\n`);
