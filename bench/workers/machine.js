// @ts-check
/** One of many machines, in a process of its own: submits sessions or runs them, as the harness asks. */

/**
 * @typedef {object} Adapter
 * @property {(places: number) => Promise<void>} work runs sessions, so many at once, until `rest`
 * @property {() => Promise<void>} rest
 * @property {(session: Session) => Promise<void>} run one session to its end
 */
/**
 * What a session is: one call of the model; or with a child a call, the child's one call, and a call.
 * @typedef {object} Session
 * @property {boolean} child
 * @property {boolean} here run by the process that submits it, not by workers
 */
/** @typedef {{ redis: string, postgres: string, folder: string, latency: number }} MachineOptions */
/**
 * @typedef {{ work: number } | { rest: true } | { time: true } | { sessions: Session, count: number, atOnce: number }} Asked
 */

const [path = '', settings = '{}'] = process.argv.slice(2);
/** @type {Adapter} */
const adapter = await (await import(path)).open(JSON.parse(settings));

/**
 * How long each session took, milliseconds.
 * @param {{ sessions: Session, count: number, atOnce: number }} asked
 */
async function runSessions({ sessions, count, atOnce }) {
  /** @type {number[]} */
  const times = [];
  let begun = 0;
  const next = async () => {
    while (begun++ < count) {
      const startedAt = performance.now();
      await adapter.run(sessions);
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
  return times;
}

/** @param {Asked} asked */
async function answer(asked) {
  /** @type {number[]} */
  let ms = [];
  if ('work' in asked) await adapter.work(asked.work);
  else if ('rest' in asked) await adapter.rest();
  else if ('sessions' in asked) ms = await runSessions(asked);
  const { user, system } = process.cpuUsage();
  return { ms, cpu: (user + system) / 1000 };
}

process.on('message', async (/** @type {Asked} */ asked) => {
  try {
    process.send?.(await answer(asked));
  } catch (error) {
    process.send?.({ problem: String(error instanceof Error ? error.stack : error) });
  }
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
