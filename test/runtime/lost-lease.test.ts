import { expect, it, onTestFinished } from 'vitest';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import { defineMiddleware } from '../../src/session/middleware.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, workshop } from './workshop.ts';

/** Stops the process, timers and all. */
const stop = (time: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time);

it.each([
  { what: 'asks no model', isTaken: true, within: false, requests: 1 },
  { what: 'asks no model, however late it was stopped', isTaken: true, within: true, requests: 1 },
  { what: 'goes on when nobody took it', isTaken: false, within: false, requests: 2 },
])('a worker that was stopped for longer than its lease, just before it asks: $what', async (row) => {
  const { isTaken, within, requests } = row;
  const shop = workshop();
  const store = memoryStore();
  const engine = inProcessEngine();
  let stopWithin = () => {};
  const late = defineMiddleware({
    name: 'late',
    aroundModel(call, next) {
      stopWithin();
      return next(call);
    },
  });
  onTestFinished(() => engine.close());
  const { runtime, model } = await shop.open(
    ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : { calls: [call('list_files', { path: '.' })] }),
    { store, engine, overrides: ['engine.lease=2s'], middleware: [late] },
  );
  const session = await runtime.session();
  const stopFor = (place: boolean) => {
    if (place !== within || model.requests.length !== 1) return;
    stop(2_200);
    if (isTaken) void store.claim(session.id, 'somebody else', 60_000);
  };
  stopWithin = () => stopFor(true);
  runtime.observe((seen) => {
    if (seen.kind === 'event' && seen.event.type === 'tool.result') stopFor(false);
  });
  const ends: string[] = [];
  const ended = new Promise<void>((resolve) => {
    const watch = { began: () => (end: { outcome: string }) => resolve(void ends.push(end.outcome)) };
    void runtime.work({ concurrency: 1, watch }).then((claim) => onTestFinished(() => claim.close(0)));
  });
  const stopped = new AbortController();
  const run = session.send('go', { signal: stopped.signal });
  run.result.catch(() => {});
  await ended;
  expect(ends[0]).toBe(isTaken ? 'busy' : 'ended');
  expect(model.requests).toHaveLength(requests);
});
