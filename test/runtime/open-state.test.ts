import { expect, it, onTestFinished } from 'vitest';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import { openStates } from '../../src/runtime/open-state.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, workshop } from './workshop.ts';

it('tells apart what waits for a worker, for sub-agents, and for nobody', async () => {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const store = memoryStore();
  const engine = inProcessEngine();
  onTestFinished(() => engine.close());
  const stateOf = async (id: string) => {
    const { sessions } = await store.list({ idPrefix: id });
    return (await openStates(store, sessions, 'wait')).get(id);
  };

  const submitter = await shop.open(() => 'never', { store, engine });
  const session = await submitter.runtime.session();
  const { result } = session.send('go');
  await expect.poll(() => stateOf(session.id)).toBe('queued');

  let dig = (_answer: string) => {};
  const dug = new Promise<string>((resolve) => {
    dig = resolve;
  });
  const worker = await shop.open(
    async ({ skill, messages }) => {
      if (skill === 'dig') return dug;
      return messages.some(({ role }) => role === 'tool')
        ? 'done'
        : { calls: [call('run_skill', { name: 'dig', arguments: 'gold' })] };
    },
    { store, engine },
  );
  const work = await worker.runtime.work({ concurrency: 1 });
  onTestFinished(() => work.close(0));
  await expect.poll(() => stateOf(session.id), { timeout: 10_000 }).toBe('parked');
  dig('gold');
  expect(await result).toMatchObject({ status: 'completed', answer: 'done' });
  expect(await stateOf(session.id)).toBeUndefined();

  const alone = await shop.open(() => 'never', { store });
  const { id } = await alone.runtime.session();
  const { length } = await store.read(id);
  await store.append(id, length, [{ type: 'user.message', origin: 'user', content: 'go' }]);
  expect(await stateOf(id)).toBe('interrupted');
});
