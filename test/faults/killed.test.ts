import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Accounts } from './check.ts';
import { pick, randomOf } from './random.ts';
import { Trial } from './trial.ts';

/** Runs with real kills; `npm run faults` does one for every 20 of its runs. */
const KILLS = Number(process.env.FAULTS_KILLS ?? 10);
const SEED = Number(process.env.FAULTS_SEED ?? Date.now() % 1_000_000);

/** Runs at a time: more would only wait for each other. */
const AT_ONCE = 2;

let root: string;
let points: number;
let expected: Accounts;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'reasonix-faults-'));
  ({ points, expected } = await Trial.undisturbed(root));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const title = `a process killed with SIGKILL, every second one twice, is gone on from by the next (${KILLS}, seed ${SEED})`;
it.skipIf(process.platform === 'win32')(title, { timeout: 60_000 + KILLS * 10_000 }, async () => {
  const random = randomOf(SEED);
  // Spread over the whole run, each somewhere in its own part.
  const queue = Array.from({ length: KILLS }, (_, index) => {
    const first = Math.ceil(((index + random()) * points) / KILLS);
    return { index, deaths: index % 2 === 0 ? [first] : [first, pick(random, points / 2)] };
  });
  const found: Record<string, string[]> = {};
  const one = async ({ index, deaths }: { index: number; deaths: number[] }) => {
    const trial = await Trial.open(root, index % 999);
    for (const point of deaths) await trial.live(point);
    await trial.live('');
    const wrong = await trial.violations(expected);
    await trial.store.close();
    rmSync(trial.folder, { recursive: true });
    if (wrong.length > 0) found[trial.lives.flatMap(({ diedAt }) => diedAt ?? []).join(', then ')] = wrong;
  };
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await one(next);
    }),
  );
  expect(found).toEqual({});
});
