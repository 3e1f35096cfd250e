// @ts-check
import { join } from 'node:path';
import { packageFolder } from '../lib/fixtures.js';
import { bytes, ms } from '../lib/line.js';
import { runNode } from '../lib/spawn.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */

const COUNT = 1000;
const AT_ONCE = 50;

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const manyChildrenRows = {
  async 'children-1000'({ folder, standIn, progress }) {
    progress(`${COUNT} children`);
    const worker = join(packageFolder, 'bench/workers/many-children.js');
    const words = ['--expose-gc', worker, await folder(), standIn.baseUrl, String(COUNT), String(AT_ONCE)];
    const { ms: took, cpu, before, peak, after, warnings } = JSON.parse((await runNode(words)).stdout);
    await standIn.take();
    const ofAll = (/** @type {'files' | 'connections'} */ what) => `${before[what]}, ${peak[what]}, ${after[what]}`;
    return [
      { what: `${COUNT} children, ${AT_ONCE} at once, 50 ms model`, ours: ms(took) },
      { what: '- each', ours: ms(took / COUNT) },
      { what: '- its processor time', ours: ms(cpu / COUNT) },
      { what: '- most memory of the process', ours: bytes(peak.memory) },
      { what: '- heap that stays', ours: bytes(after.heap - before.heap) },
      {
        what: '- open files: before, most, after',
        ours: ofAll('files'),
        target: 'none stays',
        ok: after.files <= before.files,
      },
      // Those that wait for a next request stay as long as the server lets them.
      {
        what: '- connections: before, most, after',
        ours: ofAll('connections'),
        target: `≤ ${AT_ONCE + 10}`,
        ok: peak.connections <= AT_ONCE + 10,
      },
      { what: '- warnings of leaks', ours: String(warnings.length), target: '0', ok: warnings.length === 0 },
    ];
  },
};
