import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/store/memory.ts';
import { type Accounts, accountsOf, violations } from './check.ts';
import { type Life, runLives } from './lives.ts';
import { makePlace, placeOf } from './scenario.ts';

/** Of so many points in a row one is tried; `npm run faults` tries all of them. */
const STRIDE = process.env.FAULTS_RUNS === undefined ? 2 : 1;
const FIRST = 1 + (Date.now() % STRIDE);

let folder: string;
let undisturbed: Life;
let expected: Accounts;
let runs = 0;

async function lived(deaths: readonly number[]) {
  const place = placeOf(folder, runs++);
  const store = memoryStore();
  return { place, store, lives: await runLives({ place, store, deaths }) };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reasonix-faults-'));
  makePlace(folder);
  const { lives } = await lived([]);
  undisturbed = lives[0] as Life;
  expected = accountsOf(undisturbed.after);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a run that dies', () => {
  it('is right when it does not', async () => {
    const { place, store, lives } = await lived([]);
    expect(await violations({ store, lives, written: place.written, expected })).toEqual([]);
    expect(expected).toMatchObject({ steps: 43, spawns: 13 });
  });

  it('at any point goes on from there: nothing lost, nothing doubled', { timeout: 300_000 }, async () => {
    const found: Record<string, string[]> = {};
    for (let point = FIRST; point <= undisturbed.points; point += STRIDE) {
      const { place, store, lives } = await lived([point]);
      const wrong = await violations({ store, lives, written: place.written, expected });
      if (wrong.length > 0) found[`${point}: ${lives[0]?.diedAt}`] = wrong;
    }
    expect(found).toEqual({});
    expect(undisturbed.points).toBeGreaterThan(400);
  });
});
