/**
 * A process that has a child work in a git worktree: begins the task, or goes on with it, and prints how
 * that ended.
 */
import { join } from 'node:path';
import { ReasonixError } from '../../src/core/errors.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openRuntime } from '../../src/runtime/open-runtime.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { readLogs, rest } from './lives.ts';
import { withShortLeases } from './short-leases.ts';

const [folder = ''] = process.argv.slice(2);
const [cwd, home] = [join(folder, 'project'), join(folder, 'home')];
const store = withShortLeases(await openSqliteStore({ home }));

const call = (name: string, input: unknown) => ({ calls: [{ name, arguments: JSON.stringify(input) }] });

const model = scriptedModel(({ skill, messages }) => {
  const last = messages.at(-1);
  if (skill === 'fix')
    return last?.role === 'tool' ? 'fixed' : call('write_file', { path: 'a.txt', content: 'mine\n' });
  return last?.role === 'tool' ? last.content : call('run_skill', { name: 'fix', arguments: 'Fix it.' });
});

try {
  const todo = rest(await readLogs(store));
  if (todo) {
    const runtime = await openRuntime({ cwd, home, reasonixHome: home, env: {}, model, store, yes: true });
    const session = await runtime.session(todo.kind === 'new' ? {} : { resume: todo.root });
    await (todo.kind === 'resume' ? session.resume() : session.send('Go.')).result;
    await runtime.close();
  }
  console.log('done');
} catch (error) {
  console.log(ReasonixError.isInstance(error) ? error.code : String(error));
} finally {
  await store.close();
}
