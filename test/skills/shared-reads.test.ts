import { expect, test } from 'vitest';
import { SharedReads } from '../../src/skills/shared-reads.ts';

test('reads that are asked for in one go share one; a later one reads anew, even while it is under way', async () => {
  const reads = new SharedReads<string>();
  const begun: string[] = [];
  const ends: ((text: string) => void)[] = [];
  const read = (key: string) =>
    reads.get(key, () => {
      begun.push(key);
      return new Promise((resolve) => ends.push(resolve));
    });
  const first = read('a');
  await Promise.resolve();
  const [second, other] = [read('a'), read('b')];
  await new Promise(setImmediate);
  const later = read('a');
  expect(begun).toEqual(['a', 'b', 'a']);
  for (const [index, end] of ends.entries()) end(`text ${index}`);
  expect(await Promise.all([first, second, other, later])).toEqual(['text 0', 'text 0', 'text 1', 'text 2']);
});
