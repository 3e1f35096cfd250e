import { expect, it, onTestFinished } from 'vitest';
import { views } from '../../src/cli/serve/views.ts';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import { workshop } from '../runtime/workshop.ts';

it('tells, like the commands, what waits for workers from what nobody goes on with', async () => {
  const engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const { runtime } = await workshop().open(() => 'never', { engine });
  const { store, config } = runtime;
  const shared = { store, config: { ...config, store: { ...config.store, url: 'postgres://of-many-machines' } } };
  const stop = new AbortController();
  const run = (await runtime.session()).send('go', { signal: stop.signal });
  run.result.catch(() => {});
  await expect.poll(async () => (await store.list({ open: true })).sessions.length).toBe(1);
  const { sessions } = await store.list();
  const [summary] = sessions;
  expect(await views.summaries(shared, sessions)).toMatchObject([{ status: 'queued' }]);
  expect(await views.session(shared, { summary: summary!, events: await store.read(summary!.session) })).toMatchObject({
    status: 'queued',
  });
  expect(await views.tree(store, summary!)).toMatchObject({ status: 'queued' });
  stop.abort();
  await run.result.catch(() => {});
});
