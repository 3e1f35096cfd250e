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
 * Ours against the leanest of the others.
 * @param {string} what
 * @param {Map<string, number>} figures
 * @param {number} allowed
 * @returns {Line}
 */
function lineOf(what, figures, allowed) {
  const { ours = Number.NaN, ...others } = Object.fromEntries(figures);
  const [leanest = '', best = Number.NaN] = Object.entries(others).sort(([, left], [, right]) => left - right)[0] ?? [];
  const ratio = ours / best;
  return {
    what,
    ours: ms(ours),
    against: `${leanest} ${ms(best)}`,
    ratio,
    target: `≤ ${allowed} ×`,
    ok: ratio <= allowed,
    others: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, ms(value)])),
  };
}

/** @type {Record<string, (context: Context) => Promise<Line[]>>} */
export const agentRows = {
  async turn(context) {
    const { quick } = context;
    const short = await contest(context, 'turn', 50, quick ? 2 : 9);
    const long = await contest(context, 'turn', 200, quick ? 1 : 5);
    const perStep = (/** @type {Map<string, Sample[]>} */ samples, /** @type {number} */ steps) =>
      new Map([...samples].map(([name, list]) => [name, median(list.map((sample) => sample.ms)) / steps]));
    const flatness = new Map([...long].map(([name, list]) => [name, median(list.map(lateToEarly))]));
    const { ours = Number.NaN, ...others } = Object.fromEntries(flatness);
    const raw = others['raw fetch, streamed'] ?? Number.NaN;
    return [
      lineOf('turn of 50 steps, each step', perStep(short, 50), 1.1),
      lineOf('turn of 200 steps, each step', perStep(long, 200), 1.1),
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
      const figures = new Map([...samples].map(([name, list]) => [name, median(list.map((sample) => sample.ms))]));
      lines.push(lineOf(`${count} children side by side, 50 ms model`, figures, allowed));
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
