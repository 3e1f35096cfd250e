import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

interface Measure {
  median(values: readonly number[]): number;
  interleaved<T>(count: number, names: readonly string[], run: (name: string) => T): Promise<Map<string, T[]>>;
}

// The bench is JavaScript with a check of its own, which this project's does not look into.
const { interleaved, median }: Measure = await import(new URL('../../bench/lib/measure.js', import.meta.url).href);

const run = fileURLToPath(new URL('../../bench/run.js', import.meta.url));

it('takes the middle of samples, so that one outlier moves nothing', () => {
  expect(median([3, 1, 1000])).toBe(3);
  expect(median([4, 2])).toBe(3);
  expect(() => median([])).toThrow(RangeError);
});

it('runs every contender once a round, each round from another one, and leaves the first round out', async () => {
  const order: string[] = [];
  const samples = await interleaved(2, ['a', 'b', 'c'], (name) => order.push(name));
  expect(order.join('')).toBe('abcbcacab');
  expect([...samples.values()].map((list) => list.length)).toEqual([2, 2, 2]);
  expect(samples.get('a')).toEqual([6, 8]);
});

it('refuses a row that does not exist and names those that do', () => {
  const { status, stderr } = spawnSync(process.execPath, [run, '--only', 'turns'], { encoding: 'utf8' });
  expect(status).toBe(2);
  expect(stderr).toMatch(/no such row: turns[\s\S]*rows: .*\bturn\b/);
});
