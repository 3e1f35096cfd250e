import type { Queue } from 'bullmq';
import { Connection } from './connection.ts';
import { Problems } from './problems.ts';

/** The queues as they are in Redis, to look at. */
export interface QueueView {
  /** Those of every tag that there was work for, and the alarms. */
  queues(): Promise<readonly Queue[]>;
  close(): Promise<void>;
}

export interface QueueViewOptions {
  url: string;
  prefix: string;
  onProblem(text: string): void;
}

/** @throws ReasonixError `config` when `url` is no address, or a driver is not installed. */
export async function openQueueView({ url, prefix, onProblem }: QueueViewOptions): Promise<QueueView> {
  const connection = await Connection.open({ url, prefix, problems: new Problems(onProblem) });
  const known = new Map<string, Queue>();
  return {
    queues: () =>
      connection.command(async () => {
        for (const name of await namesIn(connection, prefix)) {
          if (known.has(name)) continue;
          const { Queue } = connection.drivers.bullmq;
          // Whoever looks writes nothing, not even what the queue is set to.
          const queue = new Queue(name, { connection: connection.redis, prefix, skipMetasUpdate: true });
          known.set(
            name,
            queue.on('error', (error) => connection.fault(error)),
          );
        }
        return [...known.values()];
      }),
    close: async () => {
      // First the connection: with Redis away the queues would wait for it.
      connection.close();
      await Promise.allSettled([...known.values()].map((queue) => queue.close()));
    },
  };
}

async function namesIn({ redis }: Connection, prefix: string): Promise<string[]> {
  const names = new Set(['runs', 'alarms']);
  const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}:runs.*:meta`;
  for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
    const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
    for (const key of keys) names.add(key.slice(prefix.length + 1, -':meta'.length));
    cursor = next;
  }
  return [...names].sort();
}
