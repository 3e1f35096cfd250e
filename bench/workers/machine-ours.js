// @ts-check
/** Ours: two lines of configuration, and a runtime that works. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRuntime, scriptedModel } from '../../dist/index.js';

/** @param {string} folder */
async function writeChild(folder) {
  const path = join(folder, '.reasonix', 'skills', 'child');
  await mkdir(path, { recursive: true });
  const head = '---\nname: child\ndescription: Answers.\nrunAs: subagent\n---\n';
  await writeFile(join(path, 'SKILL.md'), `${head}Answer.\n`);
}

/**
 * @param {import('./machine.js').MachineOptions} options
 * @returns {Promise<import('./machine.js').Adapter>}
 */
export async function open({ redis, postgres, folder, latency }) {
  await writeChild(folder);
  const call = { name: 'run_skill', arguments: JSON.stringify({ name: 'child', arguments: 'Answer.' }) };
  const model = scriptedModel(
    ({ skill, messages }) => {
      const last = messages.at(-1);
      const delegates = skill === undefined && last?.role === 'user' && last.content === 'Delegate.';
      return { latency, ...(delegates ? { calls: [call] } : { text: 'done' }) };
    },
    { record: false },
  );
  // More sessions than places are what is measured.
  const onProblem = (/** @type {string} */ text) => {
    if (!text.includes('waits for a worker')) console.error(text);
  };
  const own = { cwd: folder, home: join(folder, 'home'), env: {}, model, onProblem };
  const store = `store.url=${postgres}`;
  const elsewhere = await openRuntime({ ...own, overrides: [store, `engine.url=${redis}`] });
  const here = await openRuntime({ ...own, overrides: [store] });
  /** @type {Awaited<ReturnType<typeof elsewhere.work>> | undefined} */
  let work;
  return {
    work: async (places) => {
      work = await elsewhere.work({ concurrency: places });
    },
    rest: async () => work?.close(),
    run: async ({ child, here: isHere }) => {
      const session = await (isHere ? here : elsewhere).session({ system: 'You answer.' });
      const { answer, status, error, subagents } = await session.send(child ? 'Delegate.' : 'Answer.').result;
      if (answer !== 'done' || subagents.length !== Number(child)) throw new Error(`${status}, ${answer}: ${error}`);
    },
  };
}
