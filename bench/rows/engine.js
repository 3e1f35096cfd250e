// @ts-check

import { ms } from '../lib/line.js';
import { startMachine } from '../lib/machines.js';
import { interleaved, median } from '../lib/measure.js';
import { startServices } from '../lib/services.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */
/** @typedef {import('../lib/machines.js').Machine} Machine */
/** @typedef {{ submitter: Machine, workers: Machine[] }} Fleet */
/** @typedef {{ rate: number, cpu: number }} Flow sessions a second; processor time of a session over all processes */
/** @typedef {{ here: number, elsewhere: number }} Turn milliseconds */

/** Milliseconds of a call of the model. */
const LATENCY = 50;
/** Sessions that a worker runs at once. */
const PLACES = 8;
const WORKERS = [1, 2, 4];
/** Twice what the most workers have places for: nobody waits for the submitter. */
const AT_ONCE = 2 * PLACES * Math.max(...WORKERS);

const ADAPTERS = { ours: './machine-ours.js', BullMQ: './machine-bullmq.js' };

/**
 * @param {string} adapter
 * @param {import('../workers/machine.js').MachineOptions} options
 * @returns {Promise<Fleet>}
 */
async function startFleet(adapter, options) {
  // One after the other: the first one makes the tables.
  const machines = [];
  for (let index = 0; index <= Math.max(...WORKERS); index++) machines.push(await startMachine(adapter, options));
  const [submitter, ...workers] = /** @type {[Machine, ...Machine[]]} */ (machines);
  return { submitter, workers };
}

/**
 * Has the first workers of a fleet work while `use` goes on.
 * @template T
 * @param {Fleet} fleet
 * @param {number} count
 * @param {(busy: Machine[]) => Promise<T>} use is given whoever takes part
 * @returns {Promise<T>}
 */
async function working({ submitter, workers }, count, use) {
  const busy = workers.slice(0, count);
  await Promise.all(busy.map((worker) => worker.ask({ work: PLACES })));
  try {
    return await use([submitter, ...busy]);
  } finally {
    await Promise.all(busy.map((worker) => worker.ask({ rest: true })));
  }
}

/** @param {readonly Machine[]} machines */
async function processorTime(machines) {
  const all = await Promise.all(machines.map((machine) => machine.ask({ time: true })));
  return all.reduce((sum, { cpu }) => sum + cpu, 0);
}

/**
 * @param {Fleet} fleet
 * @param {number} workers
 * @param {number} count
 * @returns {Promise<Flow>}
 */
const flow = (fleet, workers, count) =>
  working(fleet, workers, async (busy) => {
    const before = await processorTime(busy);
    const startedAt = performance.now();
    await fleet.submitter.ask({ sessions: { child: false, here: false }, count, atOnce: AT_ONCE });
    const seconds = (performance.now() - startedAt) / 1000;
    return { rate: count / seconds, cpu: ((await processorTime(busy)) - before) / count };
  });

/**
 * Single turns, alternately in the submitter's process and through two idle workers.
 * @param {Fleet} fleet
 * @param {boolean} child
 * @param {number} count
 * @returns {Promise<Turn>}
 */
const turn = (fleet, child, count) =>
  working(fleet, 2, async () => {
    /** @type {{ here: number[], elsewhere: number[] }} */
    const times = { here: [], elsewhere: [] };
    for (let index = 0; index < count; index++) {
      for (const where of /** @type {const} */ (['here', 'elsewhere'])) {
        const sessions = { child, here: where === 'here' };
        times[where].push(...(await fleet.submitter.ask({ sessions, count: 1, atOnce: 1 })).ms);
      }
    }
    return { here: median(times.here), elsewhere: median(times.elsewhere) };
  });

/** @param {number} value */
const perSecond = (value) => `${value.toFixed(value < 100 ? 1 : 0)} /s`;

/**
 * @param {string} what
 * @param {(value: number) => string} text
 * @param {{ ours: number, BullMQ: number }} figures
 * @param {Record<string, string>} [others]
 * @returns {Line}
 */
const beside = (what, text, { ours, BullMQ }, others = {}) => ({
  what,
  ours: text(ours),
  against: `BullMQ ${text(BullMQ)}`,
  ratio: ours / BullMQ,
  others,
});

/**
 * A figure of both, out of their samples.
 * @template T
 * @param {Map<string, T[]>} samples
 * @param {(sample: T) => number} figure
 */
const ofBoth = (samples, figure) => ({
  ours: median((samples.get('ours') ?? []).map(figure)),
  BullMQ: median((samples.get('BullMQ') ?? []).map(figure)),
});

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const engineRows = {
  async engine({ folder, quick, progress }) {
    const services = await startServices();
    if ('missing' in services) {
      console.error(`engine: left out, ${services.missing} is not installed`);
      return [];
    }
    /** @type {Map<string, Fleet>} */
    const fleets = new Map();
    /** @param {string} name */
    const fleet = (name) => /** @type {Fleet} */ (fleets.get(name));
    try {
      for (const [name, adapter] of Object.entries(ADAPTERS)) {
        fleets.set(name, await startFleet(adapter, { ...services, folder: await folder(), latency: LATENCY }));
      }
      const names = [...fleets.keys()];
      /** @type {Line[]} */
      const lines = [];
      for (const count of WORKERS) {
        const workers = `${count} ${count === 1 ? 'worker' : 'workers'}`;
        const samples = await interleaved(quick ? 3 : 9, names, (name) => {
          progress(`engine: ${workers}, ${name}`);
          return flow(fleet(name), count, 200);
        });
        lines.push(
          beside(
            `sessions through ${workers}, ${LATENCY} ms model`,
            perSecond,
            ofBoth(samples, ({ rate }) => rate),
          ),
          beside(
            '- processor time of each',
            ms,
            ofBoth(samples, ({ cpu }) => cpu),
          ),
        );
      }
      for (const child of [true, false]) {
        const what = child ? 'turn with one child' : 'turn without a child';
        const samples = await interleaved(quick ? 3 : 9, names, (name) => {
          progress(`engine: ${what}, ${name}`);
          return turn(fleet(name), child, 7);
        });
        const here = ofBoth(samples, (sample) => sample.here);
        const elsewhere = ofBoth(samples, (sample) => sample.elsewhere);
        const added = ofBoth(samples, (sample) => sample.elsewhere - sample.here);
        lines.push(
          beside(`${what}: added by workers to in-process`, ms, added, {
            'in-process': ms(here.ours),
            'through workers': ms(elsewhere.ours),
            'BullMQ in-process': ms(here.BullMQ),
            'through workers of BullMQ': ms(elsewhere.BullMQ),
          }),
        );
      }
      return lines;
    } finally {
      for (const { submitter, workers } of fleets.values()) for (const { stop } of [submitter, ...workers]) stop();
      await services.stop();
    }
  },
};
