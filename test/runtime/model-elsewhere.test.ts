import { expect, it, onTestFinished } from 'vitest';
import { inProcessEngine } from '../../src/engines/in-process.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { call, workshop } from './workshop.ts';

it('asks the model that was chosen for a turn, wherever it runs, and hands it on to children', async () => {
  const shop = workshop();
  shop.skill('dig', { runAs: 'subagent' }, 'You dig.');
  const [store, engine] = [memoryStore(), inProcessEngine()];
  onTestFinished(() => engine.close());
  const { runtime } = await shop.open(
    ({ model, skill, messages }) => {
      const last = messages.at(-1);
      if (skill === 'dig') return `dug by ${model}`;
      if (last?.role === 'tool') return `${last.content.split('\n').at(-1)}, told by ${model}`;
      return { calls: [call('run_skill', { name: 'dig', arguments: 'gold' })] };
    },
    { store, engine },
  );
  const claim = await runtime.work({ concurrency: 1 });
  onTestFinished(() => claim.close(0));
  const first = await runtime.session({ model: 'small' });
  expect((await first.send('go').result).answer).toBe('dug by small, told by small');
  const again = await runtime.session({ resume: first.id, model: 'large' });
  expect((await again.send('go').result).answer).toBe('dug by large, told by large');
  expect((await again.send('go').result).answer).toBe('dug by large, told by large');
  const later = await runtime.session({ resume: first.id });
  expect((await later.send('go').result).answer).toBe('dug by small, told by small');
});
