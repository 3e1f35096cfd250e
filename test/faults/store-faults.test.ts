import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import type { SessionStore } from '../../src/store/contract.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { alteredStore } from '../helpers/altered-store.ts';
import { type Accounts, accountsOf, violations } from './check.ts';
import { goOn, type Life, readLogs, runLives } from './lives.ts';
import { Machine } from './machine.ts';
import { makePlace, placeOf } from './scenario.ts';

/** Of so many appends in a row one is refused; `npm run faults` refuses each. */
const STRIDE = process.env.FAULTS_RUNS === undefined ? 4 : 1;

let folder: string;
let undisturbed: Machine;
let expected: Accounts;
let runs = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reasonix-faults-'));
  makePlace(folder);
  const store = memoryStore();
  undisturbed = new Machine({ store });
  await goOn(placeOf(folder), undisturbed, new Map());
  expected = accountsOf(await readLogs(store));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The task over a store that gives out, and what it ended with; then again over one that holds. */
async function twice(first: SessionStore, again: () => Promise<SessionStore> | SessionStore, machine?: Machine) {
  const place = placeOf(folder, ++runs);
  const asked = new Map<string, number>();
  const failing =
    machine ?? new Machine({ store: first, asked: (session) => asked.set(session, (asked.get(session) ?? 0) + 1) });
  const error = await goOn(place, failing, new Map()).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const calls = [...asked.values()].reduce((total, count) => total + count, 0);
  const store = await again();
  const after = await readLogs(store);
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
  const later = [...asked.values()].reduce((total, count) => total + count, 0);
  const life: Life = { before: new Map(), after, asked, diedAt: 'the store gave out', points: failing.points.length };
  const lives = [life, ...(await runLives({ place, store, deaths: [] }))];
  const wrong = await violations({ store, lives, written: place.written, expected });
  if (later !== calls) wrong.push(`${later - calls} model calls after the end`);
  await store.close();
  return { error, wrong };
}

const full = () => new ReasonixError('store_full', 'cannot write: the disk is full', { hint: 'free some space' });

/** Stores that have refused something: a run may need an append less than another. */
const refused = new WeakSet<SessionStore>();

/** Refuses the append of this number, whole or in pieces, and with `stays` every one after it. */
function refusing(store: SessionStore, number: number, stays: boolean): SessionStore {
  let count = 0;
  const events = new Set<unknown>();
  return alteredStore(store, {
    append: async (...input: Parameters<SessionStore['append']>) => {
      count++;
      const [, , wanted] = input;
      if (count === number || (stays && count > number) || wanted.some((event) => events.has(event))) {
        for (const event of wanted) events.add(event);
        refused.add(store);
        throw full();
      }
      return store.append(...input);
    },
  });
}

describe('a disk that is full', () => {
  it.each([
    ['for one append', false],
    ['from then on', true],
  ])(
    '%s stops the run with store_full wherever it comes, and the rest is done when there is room',
    {
      timeout: 300_000,
    },
    async (_, stays) => {
      const appends = undisturbed.points.filter((name) => name.startsWith('before append')).length;
      const found: Record<string, unknown> = {};
      for (let number = 1 + (Date.now() % STRIDE); number <= appends; number += STRIDE) {
        const store = memoryStore();
        const { error, wrong } = await twice(refusing(store, number, stays), () => store);
        if (refused.has(store) && !ReasonixError.isInstance(error, 'store_full')) wrong.push(`it ended with ${error}`);
        if (wrong.length > 0) found[number] = wrong;
      }
      expect(found).toEqual({});
    },
  );

  it.each([0.3, 0.6, 0.9])('of SQLite, at %d of what the run needs', { timeout: 60_000 }, async (part) => {
    const whole = join(folder, `whole-${part}`);
    mkdirSync(whole);
    const measured = await openSqliteStore({ home: whole });
    await goOn(placeOf(folder, ++runs), new Machine({ store: measured }), new Map());
    await measured.close();
    const pages = statSync(measured.path).size / 4096;

    const home = join(folder, `full-${part}`);
    mkdirSync(home);
    const first = await openSqliteStore({ home, maxPages: Math.floor(pages * part) });
    const { error, wrong } = await twice(first, async () => {
      await first.close();
      return openSqliteStore({ home });
    });
    expect(error).toMatchObject({ code: 'store_full', hint: expect.stringContaining('free some space') });
    expect(wrong).toEqual([]);
  });
});

it.each([0.1, 0.4, 0.7, 0.95])(
  'a lock that stays, from %d of the run on, stops it with session_busy, and it goes on afterwards',
  {
    timeout: 60_000,
  },
  async (part) => {
    const home = join(folder, `locked-${part}`);
    mkdirSync(home);
    const store = await openSqliteStore({ home, busyTimeout: 200 });
    const other = (await sqliteDriver()).open(store.path);
    const asked = new Map<string, number>();
    let passed = 0;
    const machine = new Machine({
      store,
      asked: (session) => asked.set(session, (asked.get(session) ?? 0) + 1),
      jitter: async () => {
        passed++;
        if (passed === Math.ceil(undisturbed.points.length * part)) other.exec('begin immediate');
      },
    });
    const place = placeOf(folder, ++runs);
    await expect(goOn(place, machine, new Map())).rejects.toMatchObject({
      code: 'session_busy',
      message: expect.stringContaining('stayed locked by another process'),
    });
    other.exec('rollback');
    const after = await readLogs(store);
    const life: Life = { before: new Map(), after, asked, diedAt: 'the lock', points: passed };
    // Its leases could not be given back: they fall with its process.
    await machine.settle();
    const lives = [life, ...(await runLives({ place, store, deaths: [] }))];
    expect(await violations({ store, lives, written: place.written, expected })).toEqual([]);
    other.close();
    await store.close();
  },
);
