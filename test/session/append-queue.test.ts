import { expect, test } from 'vitest';
import { ReasonixError } from '../../src/core/errors.ts';
import type { SessionEvent } from '../../src/core/events.ts';
import { AppendQueue } from '../../src/session/append-queue.ts';

const started = (call: string): SessionEvent => ({ type: 'tool.started', call, name: 'shell', effects: 'write' });
const invalid = started('invalid');

/** A queue over a log that takes its time and refuses `invalid` with everything that comes along with it. */
function queueOf() {
  const log: string[][] = [];
  let fatal: unknown;
  const queue = new AppendQueue({
    write: async (events) => {
      await new Promise(setImmediate);
      if (events.includes(invalid)) throw new ReasonixError('session_invalid', 'cannot be written');
      log.push(events.map((event) => (event.type === 'tool.started' ? event.call : event.type)));
    },
    fatal: () => fatal,
    failed: (error) => {
      fatal = error;
    },
  });
  return { queue, log };
}

test('what is asked for in one moment, or while an append is under way, becomes one', async () => {
  const { queue, log } = queueOf();
  const first = [queue.add([started('a')]), queue.add([started('b'), started('c')])];
  await Promise.resolve();
  await Promise.resolve();
  const later = ['d', 'e'].map((call) => queue.add([started(call)]));
  expect(await Promise.all([...first, ...later])).toEqual([true, true, true, true]);
  expect(log).toEqual([
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
});

test('a function is asked when everything before it is in the log, and what waits behind it goes along', async () => {
  const { queue, log } = queueOf();
  const before = queue.add([started('a')]);
  const asked = queue.add(() => [started(`after ${log.flat().join()}`)]);
  const nothing = queue.add(() => []);
  const behind = queue.add([started('b')]);
  expect(await Promise.all([before, asked, nothing, behind])).toEqual([true, true, false, true]);
  expect(log).toEqual([['a'], ['after a'], ['b']]);
  await queue.settled();
});

test('an event that does not validate takes nothing along that came before it, and ends what comes after', async () => {
  const { queue, log } = queueOf();
  const results = await Promise.allSettled([
    queue.add([started('a')]),
    queue.add([invalid]),
    queue.add([started('b')]),
    queue.add(() => [started('c')]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
  expect(log).toEqual([['a']]);
});
