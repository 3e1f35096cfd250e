import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Cancel, ClaimOptions, Engine, Job, Outcome } from '../../src/engines/engine.ts';
import { Gate, Recorder, type Script } from './recorder.ts';

/** An engine that knows nothing yet, and how to get rid of it. */
export interface OpenedEngine {
  engine: Engine;
  dispose(): Promise<void>;
}

const job = (session: string, root = session): Job => ({ session, root });

/** Until `assertion` holds, for at most so many milliseconds. */
const eventually = (assertion: () => unknown, timeout = 10_000) =>
  vi.waitFor(async () => void (await assertion()), { timeout, interval: 10 });

/** What every implementation of `Engine` must do. */
export function describeEngine(name: string, open: () => Promise<OpenedEngine>): void {
  describe(name, () => {
    let opened: OpenedEngine;
    let engine: Engine;
    let problems: string[];

    beforeEach(async () => {
      opened = await open();
      engine = opened.engine;
      problems = [];
    });
    afterEach(async () => {
      await engine.close();
      await opened.dispose();
    });

    async function work(script?: Script, options: Partial<ClaimOptions> = {}) {
      const recorder = new Recorder(script);
      const onProblem = (text: string) => void problems.push(text);
      const claim = await engine.claim(recorder.run, { concurrency: 4, onProblem, ...options });
      return { recorder, claim };
    }

    describe('start and wake', () => {
      test('a started session runs once', async () => {
        const { recorder, claim } = await work();
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toEqual(['a']));
        await claim.drained();
        expect(recorder.begun).toEqual(['a']);
      });

      test('a session that waits has one run, however often it was started and woken', async () => {
        await engine.start(job('a'));
        await engine.start(job('a'));
        await engine.wake(job('a'));
        const { recorder, claim } = await work();
        await eventually(() => expect(recorder.begun).toEqual(['a']));
        await claim.drained();
        expect(recorder.begun).toEqual(['a']);
      });

      test('wakes while it runs bring exactly one more run, after that one', async () => {
        const gate = new Gate();
        const { recorder, claim } = await work(async (_job, _control, count) => {
          if (count === 1) await gate.passed;
          return 'ended';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        await engine.wake(job('a'));
        await engine.wake(job('a'));
        await engine.start(job('a'));
        await delay(100);
        expect(recorder.begun).toHaveLength(1);
        gate.open();
        await eventually(() => expect(recorder.begun).toHaveLength(2));
        await claim.drained();
        expect(recorder.begun).toHaveLength(2);
        expect(recorder.doubled.size).toBe(0);
      });

      test('a session that ended can be started again', async () => {
        const { recorder, claim } = await work();
        for (let turn = 1; turn <= 3; turn++) {
          await engine.start(job('a'));
          await eventually(() => expect(recorder.begun).toHaveLength(turn));
          await claim.drained();
        }
      });

      test('no more run at once than the claim has places', async () => {
        const { recorder, claim } = await work(
          async () => {
            await delay(5);
            return 'ended';
          },
          { concurrency: 3 },
        );
        await Promise.all(Array.from({ length: 30 }, (_, index) => engine.start(job(`s${index}`))));
        await eventually(() => expect(recorder.begun).toHaveLength(30));
        await claim.drained();
        expect(recorder.most).toBe(3);
        expect(claim.running).toBe(0);
      });

      test('a thousand sessions all run, each once', async () => {
        const { recorder, claim } = await work(undefined, { concurrency: 20 });
        const sessions = Array.from({ length: 1_000 }, (_, index) => `s${index}`);
        await Promise.all(sessions.map((session, index) => engine.start(job(session, `r${index % 7}`))));
        await claim.drained();
        expect([...recorder.begun].sort()).toEqual([...sessions].sort());
        expect(await engine.counts?.()).toEqual({ waiting: 0, active: 0, delayed: 0 });
      });

      test('what waits, runs and is put off is known and counted, and nothing else', async () => {
        const gate = new Gate();
        const { claim } = await work(
          async ({ session }, _control, count) => {
            if (session === 'busy' && count === 1) return 'busy';
            if (session === 'running') await gate.passed;
            return 'ended';
          },
          { concurrency: 1 },
        );
        expect(await engine.isKnown?.(job('running'))).toBe(false);
        await engine.start(job('busy'));
        await eventually(async () => expect(await engine.counts?.()).toEqual({ waiting: 0, active: 0, delayed: 1 }));
        await engine.start(job('running'));
        await eventually(() => expect(claim.running).toBe(1));
        await engine.start(job('waiting'));
        for (const session of ['busy', 'running', 'waiting']) expect(await engine.isKnown?.(job(session))).toBe(true);
        gate.open();
        await claim.drained();
        for (const session of ['busy', 'running', 'waiting']) {
          await eventually(async () => expect(await engine.isKnown?.(job(session))).toBe(false));
        }
      });
    });

    describe('tags', () => {
      test('a tagged session runs only where its tag is claimed, and untagged ones everywhere', async () => {
        const plain = await work();
        await engine.start({ ...job('tagged'), tag: 'host:/home/a b' });
        await engine.start(job('plain'));
        await eventually(() => expect(plain.recorder.begun).toEqual(['plain']));
        await plain.claim.drained();
        await plain.claim.close();
        const pinned = await work(undefined, { tags: ['host:/home/a b'] });
        await eventually(() => expect(pinned.recorder.begun).toEqual(['tagged']));
        await engine.start(job('plain'));
        await eventually(() => expect(pinned.recorder.begun).toEqual(['tagged', 'plain']));
        expect(plain.recorder.begun).toEqual(['plain']);
      });

      test('tags share the places of a claim', async () => {
        const tags = ['x', 'y'];
        const { recorder, claim } = await work(
          async () => {
            await delay(10);
            return 'ended';
          },
          { concurrency: 2, tags },
        );
        const jobs = Array.from({ length: 30 }, (_, index) => ({
          ...job(`s${index}`),
          tag: [...tags, undefined][index % 3],
        }));
        await Promise.all(jobs.map((each) => engine.start(each)));
        await claim.drained();
        expect(recorder.begun.sort()).toEqual(jobs.map(({ session }) => session).sort());
        expect(recorder.most).toBe(2);
      });
    });

    describe('park', () => {
      test('a parked session holds no place, and is woken', async () => {
        const { recorder, claim } = await work(
          async ({ session }, _control, count) => {
            if (session !== 'parent' || count > 1) return 'ended';
            await engine.park(job('parent'));
            return 'parked';
          },
          { concurrency: 1 },
        );
        await engine.start(job('parent'));
        await eventually(() => expect(recorder.begun).toEqual(['parent']));
        await engine.start(job('child', 'parent'));
        await eventually(() => expect(recorder.begun).toEqual(['parent', 'child']));
        await claim.drained();
        expect(claim.running).toBe(0);
        await engine.wake(job('parent'));
        await eventually(() => expect(recorder.begun).toEqual(['parent', 'child', 'parent']));
      });

      test('a timer wakes a parked session when it is due', async () => {
        let parkedAt = 0;
        let wokenAt = 0;
        const { recorder, claim } = await work(async (parked, _control, count) => {
          wokenAt = Date.now();
          if (count > 1) return 'ended';
          parkedAt = Date.now();
          await engine.park(parked, parkedAt + 400);
          return 'parked';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        await claim.drained();
        expect(recorder.begun).toHaveLength(1);
        await eventually(() => expect(recorder.begun).toHaveLength(2));
        expect(wokenAt - parkedAt).toBeGreaterThanOrEqual(390);
        expect(wokenAt - parkedAt).toBeLessThan(3_000);
      });

      /** Long enough for a wake to come before, on a machine that is busy. */
      const TIMER = 2_000;

      /** A session parked until soon, woken before that; its next run does `then`. No timer may wake it again. */
      async function outlivesTimer(then: (parked: Job) => Promise<Outcome>) {
        const { recorder } = await work(async (parked, _control, count) => {
          if (count > 1) return then(parked);
          await engine.park(parked, Date.now() + TIMER);
          return 'parked';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        await engine.wake(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(2));
        await delay(TIMER + 300);
        expect(recorder.begun).toHaveLength(2);
        return recorder;
      }

      test('a later park replaces the timer', async () => {
        await outlivesTimer(async (parked) => {
          await engine.park(parked, Date.now() + 60_000);
          return 'parked';
        });
      });

      test('the end of the session removes the timer', async () => {
        await outlivesTimer(async () => 'ended');
      });

      test('a park without an end removes the timer; one in the past wakes at once', async () => {
        const recorder = await outlivesTimer(async (parked) => {
          await engine.park(parked);
          return 'parked';
        });
        await engine.park(job('a'), Date.now() - 1_000);
        await eventually(() => expect(recorder.begun.length).toBeGreaterThanOrEqual(3));
      });
    });

    describe('cancel', () => {
      const cancel: Cancel = { reason: 'Ctrl-C', upTo: 7 };

      /** Runs that note what they are told, and go on until then when they are the first. */
      const listening = (told: Cancel[]): Script => {
        return (_job, { onCancel }) =>
          new Promise((resolve) => {
            onCancel((each) => {
              told.push(each);
              resolve('ended');
            });
          });
      };

      test('reaches a run that goes on', async () => {
        const told: Cancel[] = [];
        const { recorder } = await work(listening(told));
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        const sent = performance.now();
        await engine.cancel(job('a'), cancel);
        await eventually(() => expect(told[0]).toEqual(cancel), 1_000);
        expect(performance.now() - sent).toBeLessThan(500);
      });

      test('reaches a session that waits for its run, and runs that come later', async () => {
        await engine.start(job('a'));
        await engine.cancel(job('a'), cancel);
        const told: Cancel[] = [];
        const { recorder, claim } = await work(listening(told));
        await eventually(() => expect(told).toEqual([cancel]));
        await claim.drained();
        expect(recorder.begun).toEqual(['a']);
        await engine.start(job('a'));
        await eventually(() => expect(told).toEqual([cancel, cancel]));
      });

      test('runs a parked session for it', async () => {
        const told: Cancel[] = [];
        const { recorder } = await work(async (parked, control, count) => {
          if (count > 1) return listening(told)(parked, control, count);
          await engine.park(parked, Date.now() + 60_000);
          return 'parked';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        await engine.cancel(job('a'), cancel);
        await eventually(() => expect(told).toEqual([cancel]));
      });

      test('runs a session at once that was put off after failing', async () => {
        const told: Cancel[] = [];
        const { recorder } = await work(async (failing, control, count) => {
          if (count <= 2) throw new Error('no luck');
          return listening(told)(failing, control, count);
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(2));
        await eventually(async () => expect((await engine.counts?.())?.delayed).toBe(1));
        const sent = performance.now();
        await engine.cancel(job('a'), cancel);
        await eventually(() => expect(told).toEqual([cancel]));
        expect(performance.now() - sent).toBeLessThan(1_000);
      });

      test('carries messages beside requests to end, each once', async () => {
        const told: Cancel[] = [];
        const gate = new Gate();
        const { recorder } = await work(async (_job, { onCancel }) => {
          onCancel((each) => void told.push(each));
          await gate.passed;
          return 'ended';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        const say = (call: string, content: string): Cancel => ({
          ...cancel,
          message: { session: 'parent', call, content },
        });
        const sent = [say('one', 'faster'), say('two', 'faster'), cancel];
        for (const each of [...sent, ...sent]) await engine.cancel(job('a'), each);
        await eventually(() => expect(told).toHaveLength(3));
        await delay(50);
        expect(told).toEqual(sent);
        gate.open();
      });

      test('tells every listener of every request, once', async () => {
        const told: string[] = [];
        const gate = new Gate();
        const { recorder } = await work(async ({ session }, { onCancel }) => {
          onCancel(({ reason }) => told.push(`${session} ${reason}`));
          onCancel(({ reason }) => told.push(`${session} too ${reason}`));
          await gate.passed;
          return 'ended';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        await engine.cancel(job('a'), { reason: 'x', upTo: 1 });
        await engine.cancel(job('a'), { reason: 'y', upTo: 2 });
        await engine.cancel(job('b'), { reason: 'other', upTo: 2 });
        await eventually(() => expect(told).toHaveLength(6));
        expect([...told].sort()).toEqual(['a too x', 'a too y', 'a x', 'a y', 'b other', 'b too other']);
        gate.open();
      });
    });

    describe('what goes wrong', () => {
      test('a busy session is tried again, and only after a while', async () => {
        const times: number[] = [];
        const { claim } = await work(async (_job, _control, count) => {
          times.push(performance.now());
          return count <= 2 ? 'busy' : 'ended';
        });
        await engine.start(job('a'));
        await eventually(() => expect(times).toHaveLength(3));
        expect(times[1]! - times[0]!).toBeGreaterThan(700);
        await claim.drained();
        expect(times).toHaveLength(3);
      });

      test('a session that could not be run is offered again, at once when it is hastened', async () => {
        const times: number[] = [];
        const { claim } = await work(async (_job, _control, count) => {
          times.push(performance.now());
          return count <= 7 ? 'unfit' : 'ended';
        });
        await engine.start(job('a'));
        await eventually(() => expect(times).toHaveLength(2));
        expect(times[1]! - times[0]!).toBeGreaterThan(700);
        for (; times.length < 8; await delay(20)) await engine.hasten?.(job('a'));
        // Left alone it takes eleven seconds.
        expect(times[7]! - times[0]!).toBeLessThan(8_000);
        await claim.drained();
        expect(problems).toEqual([]);
      });

      test('a wake that comes while a busy session is tried is not lost', async () => {
        const gate = new Gate();
        let lastBegin = 0;
        const { recorder, claim } = await work(async (_job, _control, count) => {
          lastBegin = performance.now();
          if (count > 1) return 'ended';
          await gate.passed;
          return 'busy';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toHaveLength(1));
        await engine.wake(job('a'));
        const woken = performance.now();
        gate.open();
        await claim.drained();
        expect(lastBegin).toBeGreaterThan(woken);
        expect(recorder.doubled.size).toBe(0);
      });

      test('a run that throws is told and tried again, ever more slowly', async () => {
        const times: number[] = [];
        const { claim } = await work(async (_job, _control, count) => {
          times.push(performance.now());
          if (count <= 2) throw new Error('the disk is full');
          return 'ended';
        });
        await engine.start(job('a'));
        await claim.drained();
        expect(times).toHaveLength(3);
        expect(times[1]! - times[0]!).toBeGreaterThan(700);
        expect(times[2]! - times[1]!).toBeGreaterThan(1_400);
        expect(problems.filter((text) => text.includes('session a') && text.includes('the disk is full'))).toHaveLength(
          2,
        );
        await engine.start(job('a'));
        await eventually(() => expect(times).toHaveLength(4));
      });

      test('one that fails is in nobody’s way', async () => {
        const { recorder } = await work(
          async ({ session }) => {
            if (session === 'bad') throw new Error('always');
            return 'ended';
          },
          { concurrency: 1 },
        );
        await engine.start(job('bad'));
        await eventually(() => expect(recorder.begun).toEqual(['bad']));
        await engine.start(job('good'));
        await eventually(() => expect(recorder.begun).toContain('good'), 900);
        await delay(300);
        expect(recorder.runsOf('bad')).toBeLessThanOrEqual(2);
      });
    });

    describe('fairness', () => {
      test('a root with a thousand sessions does not keep another one waiting', async () => {
        const gate = new Gate();
        const { recorder, claim } = await work(
          async ({ session }) => {
            if (session === 'big0') await gate.passed;
            return 'ended';
          },
          { concurrency: 1 },
        );
        await engine.start(job('big0', 'big'));
        await eventually(() => expect(recorder.begun).toEqual(['big0']));
        await Promise.all(Array.from({ length: 1_000 }, (_, index) => engine.start(job(`big${index + 1}`, 'big'))));
        await engine.start(job('small', 'small'));
        gate.open();
        await eventually(() => expect(recorder.begun).toContain('small'));
        expect(recorder.begun.indexOf('small')).toBeLessThanOrEqual(2);
        await claim.close();
      });

      test('roots that wait together take turns', async () => {
        for (const root of ['a', 'b', 'c']) {
          for (let index = 0; index < 20; index++) await engine.start(job(`${root}${index}`, root));
        }
        const { recorder, claim } = await work(undefined, { concurrency: 1 });
        await claim.drained();
        const firsts = recorder.begun.slice(0, 15).map((session) => session[0]);
        for (const root of ['a', 'b', 'c']) expect(firsts.filter((first) => first === root)).toHaveLength(5);
      });
    });

    describe('the end', () => {
      test('a claim that is closed tells its runs to leave, waits for them and takes no more', async () => {
        const { recorder, claim } = await work(
          (_job, { leaving }) =>
            new Promise((resolve) => {
              leaving.addEventListener('abort', () => setTimeout(() => resolve('busy'), 50), { once: true });
            }),
          { concurrency: 1 },
        );
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toEqual(['a']));
        await engine.start(job('b'));
        await claim.close();
        expect(claim.running).toBe(0);
        await delay(100);
        expect(recorder.begun).toEqual(['a']);
        const next = await work();
        await next.claim.drained();
        expect([...next.recorder.begun].sort()).toEqual(['a', 'b']);
      });

      test('a run that does not leave is waited for no longer than the grace', async () => {
        const gate = new Gate();
        const { recorder, claim } = await work(async () => {
          await gate.passed;
          return 'ended';
        });
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toEqual(['a']));
        const began = performance.now();
        await claim.close(200);
        expect(performance.now() - began).toBeGreaterThan(150);
        expect(performance.now() - began).toBeLessThan(3_000);
        gate.open();
      });

      test('drained resolves at once when there is nothing, and when the claim is closed', async () => {
        const gate = new Gate();
        const { recorder, claim } = await work(async () => {
          await gate.passed;
          return 'ended';
        });
        await claim.drained();
        await engine.start(job('a'));
        await eventually(() => expect(recorder.begun).toEqual(['a']));
        const drained = claim.drained();
        await claim.close(10);
        await drained;
        gate.open();
      });

      test('a closed engine refuses', async () => {
        await engine.start(job('a'));
        await engine.close();
        await expect(engine.start(job('b'))).rejects.toMatchObject({ name: 'ReasonixError', code: 'engine' });
        await expect(engine.claim(async () => 'ended', { concurrency: 1 })).rejects.toMatchObject({ code: 'engine' });
      });
    });

    test('whatever comes in whatever order, each session has a run that began after its last start or wake', async () => {
      const action = fc.record({
        session: fc.nat(4),
        what: fc.constantFrom('start' as const, 'wake' as const, 'park' as const),
        pause: fc.constantFrom(0, 0, 1, 3),
      });
      const outcomes = fc.array(fc.constantFrom('ended' as const, 'parked' as const, 'slow' as const), {
        minLength: 1,
        maxLength: 8,
      });
      let round = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(action, { maxLength: 25 }),
          outcomes,
          fc.integer({ min: 1, max: 3 }),
          async (actions, script, concurrency) => {
            round++;
            const began = new Map<string, number>();
            const asked = new Map<string, number>();
            const { recorder, claim } = await work(
              async (each, _control, count) => {
                began.set(each.session, performance.now());
                const outcome = script[count % script.length] ?? 'ended';
                await delay(outcome === 'slow' ? 4 : 0);
                if (outcome !== 'parked') return 'ended';
                await engine.park(each);
                return 'parked';
              },
              { concurrency },
            );
            for (const { session, what, pause } of actions) {
              const each = job(`${round}.${session}`, `${round}.${session % 2}`);
              if (what === 'park') await engine.park(each, Date.now() + pause);
              else {
                // What counts is when it was done, and that is not known to the nearest moment from outside.
                asked.set(each.session, performance.now());
                await engine[what](each);
              }
              await delay(pause);
            }
            await claim.drained();
            for (const [session, at] of asked)
              expect(began.get(session), `${session} of round ${round}`).toBeGreaterThan(at);
            expect(recorder.doubled.size).toBe(0);
            await claim.close();
          },
        ),
        { numRuns: 25 },
      );
    }, 60_000);
  });
}
