import { expect, test } from 'vitest';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import { describeEngine } from './conformance.ts';
import { Gate, Recorder } from './recorder.ts';

describeEngine('in-process engine', async () => ({ engine: inProcessEngine(), dispose: async () => {} }));

test('the bound of the engine holds over its claims', async () => {
  const engine = inProcessEngine({ concurrency: 2 });
  const gate = new Gate();
  const recorder = new Recorder(async () => {
    await gate.passed;
    return 'ended';
  });
  const claims = await Promise.all([1, 2].map(() => engine.claim(recorder.run, { concurrency: 5 })));
  for (let index = 0; index < 10; index++) await engine.start({ session: `s${index}`, root: 'r' });
  expect(recorder.begun).toHaveLength(2);
  gate.open();
  await Promise.all(claims.map((claim) => claim.drained()));
  expect(recorder.begun).toHaveLength(10);
  expect(recorder.most).toBe(2);
  await engine.close();
});
