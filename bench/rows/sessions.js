// @ts-check
import { join } from 'node:path';
import { packageFolder, writeConfig } from '../lib/fixtures.js';
import { bytes, ms } from '../lib/line.js';
import { median } from '../lib/measure.js';
import { runNode } from '../lib/spawn.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */

const worker = (/** @type {string} */ name) => join(packageFolder, 'bench/workers', name);

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const sessionRows = {
  async memory({ folder, standIn, quick, progress }) {
    const cwd = await folder();
    await writeConfig(cwd, standIn.baseUrl);
    progress('memory');
    const { stdout } = await runNode(['--expose-gc', worker('memory.js'), cwd, quick ? '300' : '1000']);
    const { each, messages } = JSON.parse(stdout);
    await standIn.take();
    return [
      {
        what: 'memory a kept session, beyond its messages',
        ours: bytes(each - messages),
        target: '≤ 20 kB',
        ok: each - messages <= 20_000,
      },
    ];
  },

  async resume({ folder, standIn, quick, progress }) {
    /** @param {number} size */
    const toFirstRequest = async (size) => {
      const cwd = await folder();
      await writeConfig(cwd, standIn.baseUrl);
      const { id } = JSON.parse((await runNode([worker('resume.js'), 'write', cwd, '', String(size)])).stdout);
      const times = [];
      for (let round = 0; round < (quick ? 3 : 9); round++) {
        progress(`resume ${size}`);
        await standIn.take();
        const { startedAt } = JSON.parse((await runNode([worker('resume.js'), 'resume', cwd, id])).stdout);
        times.push(((await standIn.take())[0]?.at ?? Number.NaN) - startedAt);
      }
      return median(times);
    };
    const short = await toFirstRequest(10);
    const long = await toFirstRequest(10_000);
    return [
      {
        what: 'resume of 10,000 events, to its first request',
        ours: ms(long),
        against: `10 events ${ms(short)}`,
        ratio: long / short,
        target: '≤ 150 ms',
        ok: long <= 150,
      },
    ];
  },
};
