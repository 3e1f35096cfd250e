import { Alarms } from './bullmq/alarms.ts';
import { Cancels } from './bullmq/cancels.ts';
import { QueueClaim } from './bullmq/claim.ts';
import { Connection, engineClosed, redisAddress } from './bullmq/connection.ts';
import { Problems } from './bullmq/problems.ts';
import { RunQueue } from './bullmq/run-queue.ts';
import type { Cancel, Claim, ClaimOptions, Engine, Job, JobCounts, Run } from './engine.ts';

export interface BullmqEngineOptions {
  /** `redis://user:password@host:port/database`, or `rediss://` for TLS. */
  url: string;
  /** What the names of all keys begin with. On a cluster put it into braces: `{reasonix}`. Default `reasonix`. */
  prefix?: string | undefined;
  /** How long a worker that says nothing keeps a session, in milliseconds. Default 10,000. */
  lockDuration?: number | undefined;
  /** How often workers look for sessions of workers that are gone, in milliseconds. Default 5,000. */
  stalledInterval?: number | undefined;
  /** Sessions that run at once over all workers, for each tag and those without. Default 0: no bound. */
  maxRunning?: number | undefined;
  /** Hears what is wrong and tried again: an outage is told once a minute. Default: a process warning. */
  onProblem?: ((text: string) => void) | undefined;
}

/**
 * The engine of many machines: one job a session in BullMQ queues in Redis, one queue for each tag. Connects
 * with the first use. While Redis is away everything waits for it; what it forgets, `start` brings back.
 * @throws ReasonixError `config` when `url` is no address; the first use also when a driver is not installed.
 */
export function bullmqEngine(options: BullmqEngineOptions): Required<Engine> {
  redisAddress(options.url);
  return new BullmqEngine(options);
}

interface Parts {
  connection: Connection;
  cancels: Cancels;
  alarms: Alarms;
}

class BullmqEngine implements Required<Engine> {
  readonly #options: BullmqEngineOptions;
  readonly #prefix: string;
  readonly #onProblem: (text: string) => void;
  readonly #queues = new Map<string | undefined, RunQueue>();
  readonly #claims = new Set<QueueClaim>();
  #opened: Promise<Parts> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: BullmqEngineOptions) {
    this.#options = options;
    this.#prefix = options.prefix ?? 'reasonix';
    this.#onProblem = options.onProblem ?? ((text) => process.emitWarning(text, 'ReasonixEngine'));
  }

  async start(job: Job): Promise<void> {
    await this.wake(job);
  }

  async wake(job: Job): Promise<void> {
    await this.#command((parts) => this.#queue(parts, job.tag).add(plain(job)));
  }

  async park(job: Job, until?: number): Promise<void> {
    await this.#command(({ alarms }) =>
      until === undefined ? alarms.clear(job.session) : alarms.set(plain(job), until),
    );
  }

  async cancel(job: Job, cancel: Cancel): Promise<void> {
    await this.#command(async (parts) => {
      await parts.cancels.request(job.session, cancel);
      const queue = this.#queue(parts, job.tag);
      await queue.add(plain(job));
      await queue.hasten(job);
    });
  }

  async claim(run: Run, options: ClaimOptions): Promise<Claim> {
    const parts = await this.#open();
    const { lockDuration = 10_000, stalledInterval = 5_000, maxRunning = 0 } = this.#options;
    const tags = [...new Set<string | undefined>([undefined, ...(options.tags ?? [])])];
    const claim: QueueClaim = new QueueClaim(
      {
        ...parts,
        prefix: this.#prefix,
        queues: tags.map((tag) => this.#queue(parts, tag)),
        lockDuration,
        stalledInterval,
        maxRunning,
        wake: (job) => this.wake(job),
        closed: () => this.#claims.delete(claim),
      },
      run,
      { ...options, onProblem: options.onProblem ?? this.#onProblem },
    );
    this.#claims.add(claim);
    return claim;
  }

  async hasten(job: Job): Promise<void> {
    await this.#command((parts) => this.#queue(parts, job.tag).hasten(job));
  }

  async isKnown(job: Job): Promise<boolean> {
    return this.#command((parts) => this.#queue(parts, job.tag).isKnown(job));
  }

  async forgot(): Promise<boolean> {
    return this.#command(({ connection }) => connection.forgot());
  }

  async counts(): Promise<JobCounts> {
    return this.#command(async (parts) => {
      this.#queue(parts, undefined);
      const all = await Promise.all([...this.#queues.values()].map((queue) => queue.counts()));
      const sum = (name: keyof JobCounts) => all.reduce((total, counts) => total + counts[name], 0);
      return { waiting: sum('waiting'), active: sum('active'), delayed: sum('delayed') };
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const parts = await this.#opened?.catch(() => undefined);
    if (!parts) return;
    await Promise.all([...this.#claims].map((claim) => claim.close(0)));
    // First the connection: with Redis away the queues would wait for it.
    parts.cancels.close();
    parts.connection.close();
    await Promise.allSettled([parts.alarms.close(), ...[...this.#queues.values()].map(({ queue }) => queue.close())]);
  }

  async #open(): Promise<Parts> {
    if (this.#closing) throw engineClosed();
    this.#opened ??= this.#connect();
    return this.#opened;
  }

  async #connect(): Promise<Parts> {
    const problems = new Problems(this.#onProblem);
    const connection = await Connection.open({ url: this.#options.url, prefix: this.#prefix, problems });
    return {
      connection,
      cancels: new Cancels(connection, this.#prefix),
      alarms: new Alarms(connection, this.#prefix),
    };
  }

  async #command<T>(send: (parts: Parts) => Promise<T>): Promise<T> {
    const parts = await this.#open();
    return parts.connection.command(() => send(parts));
  }

  #queue({ connection }: Parts, tag: string | undefined): RunQueue {
    const known = this.#queues.get(tag);
    if (known) return known;
    const queue = new RunQueue({ connection, prefix: this.#prefix, tag });
    this.#queues.set(tag, queue);
    return queue;
  }
}

/** Jobs carry ids only, whatever else the caller's object has. */
function plain({ session, root, tag }: Job): Job {
  return { session, root, tag };
}
