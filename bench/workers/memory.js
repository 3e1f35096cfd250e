// @ts-check
/** Opens sessions, runs one turn in each, keeps them, and prints what a kept one takes beyond its messages. */
import { join } from 'node:path';
import { openRuntime } from '../../dist/index.js';

const [cwd = '', count = '0'] = process.argv.slice(2);
const runtime = await openRuntime({ cwd, home: join(cwd, 'home'), env: {} });

async function open() {
  const session = await runtime.session({ model: 'standin/answer' });
  await session.send('Say done.').result;
  return session;
}

function used() {
  for (let pass = 0; pass < 3; pass++) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const kept = [];
for (let index = 0; index < 50; index++) kept.push(await open());
const before = used();
for (let index = 0; index < Number(count); index++) kept.push(await open());
const each = (used() - before) / Number(count);
const events = await runtime.store.read(kept.at(-1)?.id ?? '');
const messages = events
  .filter(({ type }) => type === 'user.message' || type === 'assistant.message')
  .reduce((sum, event) => sum + JSON.stringify(event).length, 0);
console.log(JSON.stringify({ each, messages, kept: kept.length }));
await runtime.close();
