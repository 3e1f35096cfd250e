import { openSqliteStore } from '../../src/store/sqlite.ts';
import { describeStore } from './conformance.ts';
import { temporaryFolder } from './temporary-folder.ts';

describeStore('sqlite store', async () => {
  const folder = temporaryFolder();
  const store = await openSqliteStore({
    home: folder.path,
    onProblem: (text) => {
      throw new Error(`unexpected problem: ${text}`);
    },
  });
  return {
    store,
    dispose: async () => {
      await store.close();
      folder.remove();
    },
  };
});
