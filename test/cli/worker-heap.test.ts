import { expect, it } from 'vitest';
import { spawnTs } from '../helpers/spawn-ts.ts';

const PROGRAM = new URL('./heap-program.ts', import.meta.url);
const MB = 1024 * 1024;

async function youngHeap(nodeArgs: string[], options = ''): Promise<number> {
  const { line } = await spawnTs(PROGRAM, { nodeArgs, env: { NODE_OPTIONS: options } });
  return Number(await line());
}

it('a worker keeps the young part of its heap small, unless Node was told how large it may be', async () => {
  const sizes = [youngHeap([]), youngHeap(['--max-semi-space-size=16']), youngHeap([], '--max-semi-space-size=16')];
  const [small = 0, asArgued = 0, asInEnvironment = 0] = await Promise.all(sizes);
  expect(small).toBeLessThanOrEqual(4 * MB);
  expect(asArgued).toBeGreaterThan(8 * MB);
  expect(asInEnvironment).toBeGreaterThan(8 * MB);
});
