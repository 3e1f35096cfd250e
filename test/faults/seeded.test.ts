import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { type Accounts, accountsOf, violations } from './check.ts';
import { type Life, runLives } from './lives.ts';
import { pick, randomOf } from './random.ts';
import { makePlace, placeOf } from './scenario.ts';

/** Runs with seeds from here on: `npm run faults -- --runs 5000 --seed 7` does more of them. */
const RUNS = Number(process.env.FAULTS_RUNS ?? 80);
const SEED = Number(process.env.FAULTS_SEED ?? Date.now() % 1_000_000);

/** Of so many runs one is on the disk; the others are in memory, where they are faster. */
const ON_DISK = 8;

let folder: string;
let points: number;
let expected: Accounts;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reasonix-faults-'));
  makePlace(folder);
  const [life] = await runLives({ place: placeOf(folder), store: memoryStore(), deaths: [] });
  const { after, points: passed } = life as Life;
  points = passed;
  expected = accountsOf(after);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Plan {
  /** Points at which its lives end, one after the other. */
  deaths: number[];
  /** Children at once. */
  concurrency: number;
  onDisk: boolean;
  jitter: () => Promise<void>;
}

function planOf(seed: number): Plan {
  const random = randomOf(seed);
  const deaths = Array.from({ length: pick(random, 3) }, (_, index) => pick(random, index === 0 ? points : points / 2));
  return {
    deaths,
    concurrency: pick(random, 6),
    onDisk: pick(random, ON_DISK) === 1,
    // Turns of the event loop instead of milliseconds: orders differ, and nothing waits.
    jitter: async () => {
      for (let turns = pick(random, 4); turns > 1; turns--) await new Promise(setImmediate);
    },
  };
}

async function storeOf(seed: number, onDisk: boolean): Promise<SessionStore> {
  if (!onDisk) return memoryStore();
  const home = join(folder, `store-${seed}`);
  mkdirSync(home);
  return openSqliteStore({ home });
}

it(`goes on after random deaths (${RUNS} from seed ${SEED})`, { timeout: 60_000 + RUNS * 2_000 }, async () => {
  const found: Record<string, string[]> = {};
  let deaths = 0;
  for (let seed = SEED; seed < SEED + RUNS; seed++) {
    const plan = planOf(seed);
    const place = placeOf(folder, seed);
    const store = await storeOf(seed, plan.onDisk);
    const lives = await runLives({ ...plan, place, store });
    deaths += lives.filter(({ diedAt }) => diedAt !== undefined).length;
    const wrong = await violations({ store, lives, written: place.written, expected });
    await store.close();
    rmSync(place.written, { force: true });
    rmSync(join(folder, `store-${seed}`), { recursive: true, force: true });
    if (wrong.length > 0) {
      const died = lives.flatMap(({ diedAt }) => diedAt ?? []);
      found[`npm run faults -- --runs 1 --seed ${seed} (died ${died.join(', then ')})`] = wrong;
    }
    report(seed - SEED + 1, deaths, Object.keys(found).length);
  }
  expect(found).toEqual({});
  expect(deaths).toBeGreaterThanOrEqual(RUNS);
});

/** A line now and then, for whoever asked for many. */
function report(done: number, deaths: number, bad: number): void {
  if (process.env.FAULTS_RUNS === undefined) return;
  if (done % 100 === 0 || done === RUNS)
    console.log(`${done} of ${RUNS} runs, ${deaths} deaths, ${bad} with violations`);
}
