// @ts-check
/** Writes a long session (`write`), or opens it and sends a message, printing when that began (epoch milliseconds). */
import { join } from 'node:path';
import { openRuntime, openSqliteStore } from '../../dist/index.js';

const [what, cwd = '', session = '', size = '0'] = process.argv.slice(2);

/** @returns {Promise<string>} */
async function write() {
  const runtime = await openRuntime({ cwd, home: join(cwd, 'home'), env: {} });
  const { id } = await runtime.session({ model: 'standin/answer' });
  await runtime.close();
  const store = await openSqliteStore({ home: join(cwd, 'home', '.reasonix') });
  const usage = { input: 100, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 };
  let seq = (await store.read(id)).length;
  /** @type {import('../../dist/index.js').SessionEvent[]} */
  const events = [{ type: 'user.message', origin: 'user', content: 'Take notes.' }];
  for (let step = 0; seq + events.length + 4 <= Number(size); step++) {
    const call = `call_${step}`;
    const toolCalls = [{ id: call, name: 'read_file', arguments: `{"path":"notes/${step}.md"}` }];
    events.push(
      { type: 'assistant.message', text: '', toolCalls, usage, model: 'answer', finishReason: 'tool_calls' },
      { type: 'tool.result', call, name: 'read_file', content: `1\tline ${step} of a file`, isError: false },
    );
  }
  events.push(
    { type: 'assistant.message', text: 'done', toolCalls: [], usage, model: 'answer', finishReason: 'stop' },
    { type: 'turn.ended', status: 'completed', answer: 'done' },
  );
  await store.append(id, seq, events);
  seq += events.length;
  await store.close();
  return JSON.stringify({ id, seq });
}

async function resume() {
  const startedAt = performance.timeOrigin + performance.now();
  const runtime = await openRuntime({ cwd, home: join(cwd, 'home'), env: {} });
  const handle = await runtime.session({ resume: session });
  const { status, error } = await handle.send('And now?').result;
  await runtime.close();
  if (status !== 'completed') throw new Error(`${status}: ${error}`);
  return JSON.stringify({ startedAt });
}

console.log(await (what === 'write' ? write() : resume()));
