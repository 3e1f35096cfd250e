import type { Lease } from '../contract.ts';
import { heldBy, leaseLost } from '../errors.ts';
import { mayBeAlive } from '../owner.ts';
import type { Connection } from './connection.ts';

/** A row of the table of leases; `holder` is its owner while the lease runs and its process may live. */
export interface LeaseState {
  owner: string | null;
  epoch: number;
  holder: string | undefined;
}

/**
 * The table of leases. A released row stays, without an owner, so that epochs only rise. Times are the
 * server's: clocks of machines may differ.
 */
export class Leases {
  readonly #connection: Connection;
  readonly #table: string;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#table = `${connection.schema}.leases`;
  }

  async claim(session: string, owner: string, ttl: number): Promise<Lease> {
    let gone: string | null = null;
    for (;;) {
      const [row] = await this.#connection.query<{ epoch: number }>(
        `insert into ${this.#table} as held (session, owner, epoch, expires)
         values ($1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
         on conflict (session) do update set owner = $2, expires = excluded.expires,
           epoch = case when held.owner = $2 then held.epoch else held.epoch + 1 end
         where held.owner is null or held.owner = $2 or held.expires <= clock_timestamp() or held.owner = $4
         returning epoch`,
        [session, owner, ttl, gone],
      );
      if (row) return { session, owner, epoch: row.epoch };
      const state = await this.state(session);
      if (state?.holder !== undefined) throw heldBy(session, state.holder);
      gone = state?.owner ?? null;
    }
  }

  async renew(lease: Lease, ttl: number): Promise<void> {
    const renewed = await this.#connection.query(
      `update ${this.#table} set expires = clock_timestamp() + $4 * interval '1 millisecond'
       where session = $1 and owner = $2 and epoch = $3 returning 1`,
      [lease.session, lease.owner, lease.epoch, ttl],
    );
    if (renewed.length === 0) throw leaseLost(lease, (await this.state(lease.session))?.holder);
  }

  async release(lease: Lease): Promise<void> {
    await this.drop(lease.session, lease);
  }

  /** Takes the owner away; false when somebody else has the lease by now. */
  async drop(session: string, { owner, epoch }: { owner: string | null; epoch: number }): Promise<boolean> {
    const dropped = await this.#connection.query(
      `update ${this.#table} set owner = null, expires = clock_timestamp()
       where session = $1 and owner = $2 and epoch = $3 returning 1`,
      [session, owner, epoch],
    );
    return dropped.length > 0;
  }

  async state(session: string): Promise<LeaseState | undefined> {
    const [row] = await this.#connection.query<{ owner: string | null; epoch: number; live: boolean }>(
      `select owner, epoch, expires > clock_timestamp() as live from ${this.#table} where session = $1`,
      [session],
    );
    if (!row) return undefined;
    const { owner, epoch, live } = row;
    return { owner, epoch, holder: owner !== null && live && mayBeAlive(owner) ? owner : undefined };
  }
}
