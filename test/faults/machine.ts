import type { GenerateOptions, ModelClient, ModelReply, ModelRequest } from '../../src/models/contract.ts';
import type { Lease, SessionStore } from '../../src/store/contract.ts';
import type { Tool } from '../../src/tools/define-tool.ts';

export interface MachineOptions {
  store: SessionStore;
  /** The point at which it dies, from 1; never by default. */
  dieAt?: number | undefined;
  /** Ends the real process. By default the machine only stops: nothing that it began ever goes on. */
  die?: (() => void) | undefined;
  /** `die` only stops it for a while: it goes on when it is woken. */
  staysAlive?: boolean | undefined;
  /** Lets others run before each point, so that seeds give different orders. */
  jitter?: (() => Promise<void>) | undefined;
  /** Hears of every model call, before it is answered. */
  asked?: ((session: string) => void) | undefined;
}

/**
 * A process that can be killed at every point where a death could matter: before and after each
 * append, lease and release, around the effects of tools, and in the middle of model streams. A store,
 * tools and a model that are used through it stop with it for ever, as they do in a process that died.
 */
export class Machine {
  /** The points it has passed, in order. */
  readonly points: string[] = [];
  readonly store: SessionStore;
  /** Settles when it has died. */
  readonly death: Promise<'death'>;
  readonly #options: MachineOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #leases = new Map<string, Lease>();
  readonly #frozen: ((error: Error) => void)[] = [];
  #dead = false;
  #buried = false;
  #died: () => void = () => {};

  constructor(options: MachineOptions) {
    this.#options = options;
    this.death = new Promise((resolve) => {
      this.#died = () => resolve('death');
    });
    this.store = this.#mortal(options.store);
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** Dies here when it is time. */
  async point(name: string): Promise<void> {
    await this.alive();
    await this.#options.jitter?.();
    await this.alive();
    this.points.push(name);
    if (this.points.length !== this.#options.dieAt) return;
    this.#options.die?.();
    if (this.#options.staysAlive) return;
    this.#dead = true;
    this.#died();
    await this.alive();
  }

  /** Never settles once the machine is dead. */
  alive(): Promise<void> | undefined {
    if (!this.#dead) return undefined;
    if (this.#buried) return Promise.reject(new Error('the machine is dead'));
    return new Promise((_, reject) => this.#frozen.push(reject));
  }

  /** A tool around whose effect the machine may die. */
  tool<Input>(tool: Tool<Input>): Tool<Input> {
    return {
      ...tool,
      execute: async (input, context) => {
        await this.point(`before ${tool.name}`);
        const outcome = await tool.execute(input, context);
        await this.point(`after ${tool.name}`);
        return outcome;
      },
    };
  }

  /** A model in whose stream the machine may die. */
  model(client: ModelClient): ModelClient {
    return {
      provider: client.provider,
      generate: async (request: ModelRequest, options: GenerateOptions): Promise<ModelReply> => {
        await this.alive();
        this.#options.asked?.(request.session);
        const reply = await client.generate(request, options);
        await this.point('in a stream');
        return reply;
      },
    };
  }

  /** After its death: what had reached the store is durable, and its leases fall as those of a dead process do. */
  async settle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    for (const lease of this.#leases.values()) await this.#options.store.release(lease);
  }

  /** Frees what the dead machine holds. */
  bury(): void {
    this.#dead = true;
    this.#buried = true;
    for (const reject of this.#frozen.splice(0)) reject(new Error('the machine is dead'));
  }

  #mortal(store: SessionStore): SessionStore {
    const through = async <T>(work: () => Promise<T>): Promise<T> => {
      await this.alive();
      const running = work();
      this.#underWay.add(running);
      try {
        return await running;
      } finally {
        this.#underWay.delete(running);
        await this.alive();
      }
    };
    const between = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      await this.point(`before ${name}`);
      const result = await through(work);
      await this.point(`after ${name}`);
      return result;
    };
    return {
      append: (session, expectedSeq, events, lease) =>
        between(`append of ${events.map(({ type }) => type).join(' ')}`, () =>
          store.append(session, expectedSeq, events, lease),
        ),
      claim: (session, owner, ttl) =>
        between('claim', async () => {
          const lease = await store.claim(session, owner, ttl);
          this.#leases.set(session, lease);
          return lease;
        }),
      release: (lease) =>
        between('release', async () => {
          await store.release(lease);
          this.#leases.delete(lease.session);
        }),
      read: (session, fromSeq) => through(() => store.read(session, fromSeq)),
      list: (filter, page) => through(() => store.list(filter, page)),
      renew: (lease, ttl) => through(() => store.renew(lease, ttl)),
      delete: (session) => through(() => store.delete(session)),
      close: async () => {},
    };
  }
}
