// @ts-check
import { CONTENDERS, isInstalled, startContender } from '../lib/contenders.js';
import { ms } from '../lib/line.js';
import { interleaved, median } from '../lib/measure.js';

/** @typedef {import('../lib/line.js').Line} Line */
/** @typedef {import('../run.js').Context} Context */
/** @typedef {import('../lib/contenders.js').Sample} Sample */

const START = 10;
const SPAN = 20;

/**
 * Runs one scenario of every contender that is there, round by round.
 * @param {Context} context
 * @param {'turn' | 'children'} what
 * @param {number} size
 * @param {number} rounds
 */
async function contest({ standIn, folder, progress }, what, size, rounds) {
  const present = CONTENDERS.filter(({ needs }) => isInstalled(needs));
  const started = new Map();
  for (const contender of present) {
    started.set(contender.name, await startContender(contender, { baseUrl: standIn.baseUrl, folder: await folder() }));
  }
  try {
    /** @type {Map<string, Sample[]>} */
    const samples = await interleaved(rounds, [...started.keys()], (name) => {
      progress(`${what} ${size}: ${name}`);
      return started.get(name).run(what, size);
    });
    return samples;
  } finally {
    for (const { stop } of started.values()) stop();
    await standIn.take();
  }
}

/**
 * Ours against the leanest peer. The bare loops are the floor that everybody stands on, not a peer: they
 * keep nothing, check nothing and repeat nothing.
 * @param {string} what
 * @param {Map<string, number>} figures
 * @param {number} [allowed]
 * @returns {Line}
 */
function lineOf(what, figures, allowed) {
  const { ours = Number.NaN, ...others } = Object.fromEntries(figures);
  const isFloor = (/** @type {string} */ name) => Number(name.startsWith('raw fetch'));
  const [leanest = '', best = Number.NaN] =
    Object.entries(others).sort(([a, left], [b, right]) => isFloor(a) - isFloor(b) || left - right)[0] ?? [];
  const ratio = ours / best;
  return {
    what,
    ours: ms(ours),
    against: `${leanest} ${ms(best)}`,
    ratio,
    ...(allowed === undefined ? {} : { target: `≤ ${allowed} ×`, ok: ratio <= allowed }),
    others: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, ms(value)])),
  };
}

/**
 * The median of each contender, divided by `parts`.
 * @param {Map<string, Sample[]>} samples
 * @param {'ms' | 'cpu'} what
 * @param {number} [parts]
 */
const medians = (samples, what, parts = 1) =>
  new Map([...samples].map(([name, list]) => [name, median(list.map((sample) => sample[what])) / parts]));

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const agentRows = {
  async turn(context) {
    const { quick } = context;
    const short = await contest(context, 'turn', 50, quick ? 2 : 9);
    const long = await contest(context, 'turn', 200, quick ? 1 : 5);
    const flatness = new Map([...long].map(([name, list]) => [name, median(list.map(lateToEarly))]));
    const { ours = Number.NaN, ...others } = Object.fromEntries(flatness);
    const raw = others['raw fetch, streamed'] ?? Number.NaN;
    return [
      lineOf('turn of 50 steps, each step', medians(short, 'ms', 50), 1.1),
      lineOf('- its processor time', medians(short, 'cpu', 50)),
      lineOf('turn of 200 steps, each step', medians(long, 'ms', 200), 1.1),
      lineOf('- its processor time', medians(long, 'cpu', 200)),
      {
        what: 'last 20 of 200 steps to steps 10-30',
        ours: `${ours.toFixed(2)} ×`,
        against: `raw fetch, streamed ${raw.toFixed(2)} ×`,
        ratio: ours / raw,
        target: '≤ 1.1 ×',
        ok: ours / raw <= 1.1,
        others: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, `${value.toFixed(2)} ×`])),
      },
    ];
  },

  async children(context) {
    /** @type {Line[]} */
    const lines = [];
    for (const { count, allowed } of [
      { count: 50, allowed: 1.1 },
      { count: 200, allowed: 1 },
    ]) {
      const samples = await contest(context, 'children', count, context.quick ? 2 : 7);
      lines.push(
        lineOf(`${count} children side by side, 50 ms model`, medians(samples, 'ms'), allowed),
        lineOf('- their processor time', medians(samples, 'cpu')),
      );
    }
    return lines;
  },
};

/**
 * How much longer the last steps take than early ones.
 * @param {Sample} sample
 */
function lateToEarly({ times }) {
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return median(steps.slice(-SPAN)) / median(steps.slice(START, START + SPAN));
}
