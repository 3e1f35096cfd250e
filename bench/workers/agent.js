// @ts-check
/** A contender in a process of its own: opens one adapter and runs what the harness asks for. */

/**
 * @typedef {object} Contender
 * @property {(steps: number, note: (text: string) => string) => Promise<string>} turn
 * @property {(count: number, note: (text: string) => string) => Promise<string>} children
 * @property {(count: number, note: (text: string) => string) => Promise<string>} chain
 * @property {(count: number, note: (text: string) => string) => Promise<string>} job
 * @property {(count: number, note: (text: string) => string) => Promise<string>} [jobAtOnce]
 * @property {() => Promise<void>} [close]
 */
/** @typedef {{ baseUrl: string, folder: string, stream: boolean, bare?: boolean, child?: string }} ContenderOptions `bare`: no tool but the job's, one call for all children; `child`: the model of ours */
/** @typedef {'turn' | 'children' | 'chain' | 'job' | 'jobAtOnce'} What */
/** @typedef {{ open(options: ContenderOptions): Promise<Contender>}} Adapter */
/** @typedef {{ ms: number, cpu: number, times: number[] }} Sample `cpu` is the process's own time, milliseconds too */

const [path = '', settings = '{}'] = process.argv.slice(2);
/** @type {Adapter} */
const adapter = await import(path);
const contender = await adapter.open(JSON.parse(settings));

/**
 * @param {What} what
 * @param {number} size
 * @returns {Promise<Sample>}
 */
async function run(what, size) {
  /** @type {number[]} */
  const times = [];
  const note = (/** @type {string} */ text) => {
    times.push(performance.now());
    return `noted: ${text}`;
  };
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const job = contender[what];
  if (!job) throw new Error(`cannot do ${what}`);
  const answer = await job(size, note);
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  const expected = { turn: size - 1, children: size, chain: 0, job: size, jobAtOnce: size }[what];
  if (answer !== 'done' || times.length !== expected) {
    throw new Error(`answered ${JSON.stringify(answer)} after ${times.length} of ${expected} calls`);
  }
  return { ms, cpu: (user + system) / 1000, times };
}

process.on('message', async (/** @type {{ what: What, size: number } | { close: true }} */ message) => {
  if ('close' in message) {
    await contender.close?.();
    process.exit();
  }
  try {
    process.send?.({ sample: await run(message.what, message.size) });
  } catch (error) {
    process.send?.({ problem: String(error instanceof Error ? error.stack : error) });
  }
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
