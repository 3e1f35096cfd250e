import { messageOf, ReasonixError } from '../core/errors.ts';
import type { Lease, SessionStore } from '../store/contract.ts';

/** How long a lease holds without renewal, in milliseconds. */
const LEASE_TTL = 30_000;

interface Held {
  lease: Lease;
  onLost: (error: unknown) => void;
  /** When the last renewal that came through was asked for. */
  renewed: Moment;
}

/** By the clock, which goes on while a machine sleeps, and by one that nobody sets. */
interface Moment {
  wall: number;
  steady: number;
}

const moment = (): Moment => ({ wall: Date.now(), steady: performance.now() });

/** Holds the leases of one process and renews all of them on one timer, which keeps no process alive. */
export class LeaseKeeper {
  readonly #store: SessionStore;
  readonly #owner: string;
  readonly #ttl: number;
  readonly #held = new Map<string, Held>();
  /** Sessions whose claim is under way: the store knows the process, not who in it asks. */
  readonly #claiming = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: SessionStore, owner: string, ttl = LEASE_TTL) {
    this.#store = store;
    this.#owner = owner;
    this.#ttl = ttl;
  }

  /** @throws ReasonixError `session_busy` when somebody else, or this process, works on the session. */
  async claim(session: string, onLost: (error: unknown) => void): Promise<Lease> {
    if (this.holds(session)) {
      throw new ReasonixError('session_busy', `session ${session} is being run by this process right now`, {
        hint: 'wait until its turn has ended',
        details: { holder: this.#owner },
      });
    }
    this.#claiming.add(session);
    try {
      const renewed = moment();
      const lease = await this.#store.claim(session, this.#owner, this.#ttl);
      this.#held.set(session, { lease, onLost, renewed });
      return lease;
    } finally {
      this.#claiming.delete(session);
      this.#renewWhileHeld();
    }
  }

  #renewWhileHeld(): void {
    if (this.#held.size === 0) return;
    this.#timer ??= setInterval(() => void this.#renewAll(), this.#ttl / 3).unref();
  }

  holds(session: string): boolean {
    return this.#held.has(session) || this.#claiming.has(session);
  }

  /**
   * Renews a lease that may have run out, as when the process was stopped, and takes no time otherwise.
   * When it is lost its holder has been told by the time this resolves.
   */
  async assure({ session }: Lease): Promise<void> {
    const held = this.#held.get(session);
    if (!held) return;
    const { wall, steady } = moment();
    const passed = Math.max(wall - held.renewed.wall, steady - held.renewed.steady);
    if (passed >= this.#ttl) await this.#renew(held);
  }

  async release(lease: Lease): Promise<void> {
    this.#held.delete(lease.session);
    if (this.#held.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    await this.#store.release(lease);
  }

  /** All at once, so that a store can put the renewals into one commit. */
  async #renewAll(): Promise<void> {
    await Promise.all([...this.#held.values()].map((held) => this.#renew(held)));
  }

  async #renew(held: Held): Promise<void> {
    const { lease, onLost } = held;
    const renewed = moment();
    try {
      await this.#store.renew(lease, this.#ttl);
      held.renewed = renewed;
    } catch (error) {
      if (!this.#held.delete(lease.session)) return;
      const why = `lost the lease of ${lease.session}: ${messageOf(error)}`;
      onLost(new ReasonixError('stale_writer', why, { cause: error }));
    }
  }
}
