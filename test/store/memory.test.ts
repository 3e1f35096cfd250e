import { memoryStore } from '../../src/store/memory.ts';
import { describeStore } from './conformance.ts';

describeStore('memory store', async () => {
  const store = memoryStore();
  return { store, dispose: () => store.close() };
});
