// @ts-check
/** BullMQ by itself, as its documentation shows it: a job a session, a job a child, and nothing written down. */
import { setTimeout as delay } from 'node:timers/promises';
import { Queue, QueueEvents, WaitingChildrenError, Worker } from 'bullmq';

/** @typedef {{ child: boolean, step?: 'children' }} Data */

/**
 * @param {import('./machine.js').MachineOptions} options
 * @returns {Promise<import('./machine.js').Adapter>}
 */
export async function open({ redis, latency }) {
  const connection = { url: redis, maxRetriesPerRequest: null };
  /** @type {Queue<Data, string>} */
  const queue = new Queue('sessions', { connection });
  // Whoever waits for a job listens to its queue.
  queue.setMaxListeners(0);
  const events = new QueueEvents('sessions', { connection });
  await events.waitUntilReady();
  const ask = () => delay(latency, 'done');

  /**
   * @param {import('bullmq').Job<Data, string>} job
   * @param {string | undefined} token
   */
  async function process(job, token = '') {
    const { child, step } = job.data;
    if (step === undefined) {
      const answer = await ask();
      if (!child) return answer;
      await job.updateData({ child, step: 'children' });
      const parent = { id: job.id ?? '', queue: job.queueQualifiedName };
      await queue.add('child', { child: false }, { parent, removeOnComplete: true });
      if (await job.moveToWaitingChildren(token)) throw new WaitingChildrenError();
    }
    const answers = Object.values(await job.getChildrenValues());
    if (answers[0] !== 'done') throw new Error(`the child answered ${answers}`);
    return ask();
  }

  /** @type {Worker<Data, string> | undefined} */
  let worker;
  return {
    work: async (places) => {
      worker = new Worker('sessions', process, { connection, concurrency: places });
      await worker.waitUntilReady();
    },
    rest: async () => worker?.close(),
    run: async ({ child, here }) => {
      if (here) {
        for (let call = 0; call < (child ? 3 : 1); call++) await ask();
        return;
      }
      // Whoever waits for the end has to find the job still.
      const job = await queue.add('session', { child }, { removeOnComplete: { count: 1000 } });
      const answer = await job.waitUntilFinished(events);
      if (answer !== 'done') throw new Error(`answered ${answer}`);
    },
  };
}
