import { expect, it, onTestFinished } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import { unfitDelay } from '../../src/engines/retry.ts';
import type { RunEnd } from '../../src/runtime/worker.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { alteredStore } from '../helpers/altered-store.ts';
import { workshop } from './workshop.ts';

it('leaves a turn alone that somebody else ended a moment before it took the lease', async () => {
  const store = memoryStore();
  /** Another worker was faster, and is gone again. */
  const slow = alteredStore(store, {
    async claim(session: string, owner: string, ttl?: number) {
      const lastSeq = (await store.read(session)).length;
      if (ends.length === 0) {
        await store.append(session, lastSeq, [{ type: 'turn.ended', status: 'completed', answer: 'theirs' }]);
      }
      return store.claim(session, owner, ttl);
    },
  });
  const engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const shop = workshop();
  const submitter = await shop.open(() => 'never', { store, engine });
  const worker = await shop.open(() => 'mine', { store: slow, engine });
  const ends: RunEnd[] = [];
  const problems: string[] = [];
  const work = await worker.runtime.work({
    watch: { began: () => (end) => void ends.push(end) },
    onProblem: (text) => problems.push(text),
  });
  onTestFinished(() => work.close(0));
  const result = await (await submitter.runtime.session()).send('go').result;
  expect(result).toMatchObject({ status: 'completed', answer: 'theirs' });
  await work.drained();
  expect(ends.map(({ outcome }) => outcome)).toEqual(['busy', 'ended']);
  expect(worker.model.requests).toEqual([]);
  expect(problems).toEqual([]);
});

it('leaves a session that it cannot read to others, says so once, and takes it when it can', async () => {
  const store = memoryStore();
  let isNewer = true;
  const older = alteredStore(store, {
    async read(session: string, fromSeq?: number) {
      if (isNewer) throw new ReasonixError('session_newer', `event 2 of session ${session} is not known`);
      return store.read(session, fromSeq);
    },
  });
  const engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const shop = workshop();
  const submitter = await shop.open(() => 'never', { store, engine });
  const worker = await shop.open(() => 'mine', { store: older, engine });
  const ends: RunEnd[] = [];
  const problems: string[] = [];
  const work = await worker.runtime.work({
    watch: { began: () => (end) => void ends.push(end) },
    onProblem: (text) => problems.push(text),
  });
  onTestFinished(() => work.close(0));
  const session = await submitter.runtime.session();
  const { result } = session.send('go');
  await expect.poll(() => ends.length, { timeout: 10_000 }).toBe(2);
  expect(ends.map(({ outcome }) => outcome)).toEqual(['unfit', 'unfit']);
  expect(problems).toEqual([expect.stringContaining('event 2 of session s_')]);
  expect(work.unfit).toEqual([session.id]);
  isNewer = false;
  expect(await result).toMatchObject({ status: 'completed', answer: 'mine' });
  await work.drained();
  expect(work.unfit).toEqual([]);
});

it('offers what nobody can run ever more seldom, up to five minutes', () => {
  expect([1, 5, 6, 8, 100].map(unfitDelay)).toEqual([1_000, 1_000, 2_000, 8_000, 300_000]);
});

it('counts the time of a turn by the clock of the store', async () => {
  const hour = 3_600_000;
  const store = memoryStore();
  /** A worker whose clock is an hour ahead: what was logged a moment ago seems to be long ago. */
  const early = alteredStore(store, {
    clockAhead: () => -hour,
    async read(session: string, fromSeq?: number) {
      const events = await store.read(session, fromSeq);
      return events.map((event) => ({ ...event, at: new Date(Date.parse(event.at) - hour).toISOString() }));
    },
  });
  const engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const shop = workshop();
  const submitter = await shop.open(() => 'never', { store, engine });
  const worker = await shop.open(() => 'in time', { store: early, engine });
  const work = await worker.runtime.work();
  onTestFinished(() => work.close(0));
  const { result } = (await submitter.runtime.session()).send('go', { limits: { time: 600_000 } });
  expect(await result).toMatchObject({ status: 'completed', answer: 'in time' });
});
