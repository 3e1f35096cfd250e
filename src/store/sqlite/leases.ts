import type { Lease } from '../contract.ts';
import { heldBy, leaseLost } from '../errors.ts';
import { mayBeAlive } from '../owner.ts';
import type { Database, Statement } from './driver.ts';

interface LeaseRow {
  owner: string | null;
  epoch: number;
  expires: number;
}

/** The table of leases. A released row stays, without an owner, so that epochs only rise. Every method runs inside a transaction. */
export class Leases {
  readonly #select: Statement;
  readonly #put: Statement;
  readonly #release: Statement;
  readonly #delete: Statement;

  constructor(db: Database) {
    this.#select = db.prepare('select owner, epoch, expires from leases where session = ?');
    this.#put = db.prepare('insert or replace into leases (session, owner, epoch, expires) values (?, ?, ?, ?)');
    this.#release = db.prepare(
      'update leases set owner = null, expires = 0 where session = ? and owner = ? and epoch = ?',
    );
    this.#delete = db.prepare('delete from leases where session = ?');
  }

  claim(session: string, owner: string, ttl: number): Lease {
    const row = this.#row(session);
    const holder = liveHolder(row);
    if (holder !== undefined && holder !== owner) throw heldBy(session, holder);
    const epoch = row?.owner === owner ? row.epoch : (row?.epoch ?? 0) + 1;
    this.#put.run(session, owner, epoch, Date.now() + ttl);
    return { session, owner, epoch };
  }

  renew(lease: Lease, ttl: number): void {
    this.authorize(lease.session, lease);
    this.#put.run(lease.session, lease.owner, lease.epoch, Date.now() + ttl);
  }

  release({ session, owner, epoch }: Lease): void {
    this.#release.run(session, owner, epoch);
  }

  delete(session: string): void {
    this.#delete.run(session);
  }

  /**
   * A lease holds until somebody else takes it, also past its time: a machine that slept goes on.
   * @throws ReasonixError `stale_writer` when `lease` was lost; `session_busy` without one while another writer has it.
   */
  authorize(session: string, lease: Lease | undefined): void {
    const row = this.#row(session);
    if (lease) {
      const holds = lease.session === session && row?.owner === lease.owner && row.epoch === lease.epoch;
      if (!holds) throw leaseLost(lease, liveHolder(row));
    } else {
      const holder = liveHolder(row);
      if (holder !== undefined) throw heldBy(session, holder);
    }
  }

  holder(session: string): string | undefined {
    return liveHolder(this.#row(session));
  }

  #row(session: string): LeaseRow | undefined {
    return this.#select.get(session) as LeaseRow | undefined;
  }
}

function liveHolder(row: LeaseRow | undefined): string | undefined {
  if (!row || row.owner === null || row.expires <= Date.now()) return undefined;
  return mayBeAlive(row.owner) ? row.owner : undefined;
}
