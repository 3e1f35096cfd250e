import type { SessionEvent, StoredEvent } from '../core/events.ts';
import { checkBlobs } from './blobs.ts';
import { type EncodedEvent, encodeEvents, stored } from './codec.ts';
import type { BlobStore, FollowableStore, Lease, ListFilter, Page, SessionSummary } from './contract.ts';
import { heldBy, leaseLost, outrun, storeClosed } from './errors.ts';
import { Followers } from './followers.ts';
import { mayBeAlive } from './owner.ts';
import { cursorAfter, type Paging, pagingOf, timeOf } from './paging.ts';
import { applyToSummary, emptySummary, type Summary } from './summary.ts';

/** A store that lives as long as this process: for tests and for runtimes that nobody resumes. */
export const memoryStore = (): FollowableStore & BlobStore => new MemoryStore();

interface Log {
  rows: { at: string; data: string }[];
  summary: Summary;
}

interface Holding {
  owner: string | undefined;
  epoch: number;
  expires: number;
}

class MemoryStore implements FollowableStore, BlobStore {
  readonly #logs = new Map<string, Log>();
  readonly #leases = new Map<string, Holding>();
  readonly #blobs = new Map<string, { bytes: Uint8Array; usedAt: number }>();
  readonly #followers = new Followers();
  #closed = false;

  async append(
    session: string,
    expectedSeq: number,
    events: readonly SessionEvent[],
    lease?: Lease,
  ): Promise<StoredEvent[]> {
    this.#open();
    const encoded = encodeEvents(session, expectedSeq, events);
    this.#authorize(session, lease);
    const lastSeq = this.#logs.get(session)?.rows.length ?? 0;
    if (lastSeq !== expectedSeq) throw outrun(session, expectedSeq, lastSeq, this.#liveHolder(session));
    if (encoded.length === 0) return [];
    const at = new Date().toISOString();
    const appended = this.#write(session, encoded, at);
    this.#followers.notify(session);
    return appended;
  }

  #write(session: string, encoded: readonly EncodedEvent[], at: string): StoredEvent[] {
    const log = this.#logs.get(session) ?? { rows: [], summary: emptySummary(session, at) };
    this.#logs.set(session, log);
    return encoded.map(({ data, event }) => {
      log.rows.push({ at, data });
      const result = stored(event, log.rows.length, at);
      applyToSummary(log.summary, result);
      return result;
    });
  }

  async read(session: string, fromSeq = 0): Promise<StoredEvent[]> {
    this.#open();
    const rows = this.#logs.get(session)?.rows.slice(fromSeq) ?? [];
    return rows.map(({ at, data }, index) => stored(JSON.parse(data) as SessionEvent, fromSeq + index + 1, at));
  }

  async list(filter: ListFilter = {}, page?: Page): Promise<{ sessions: SessionSummary[]; next?: string | undefined }> {
    this.#open();
    const paging = pagingOf(page);
    const found = [...this.#logs.values()]
      .map((log) => log.summary)
      .filter((summary) => matches(summary, filter) && comesAfter(summary, paging))
      .sort((a, b) => compare(a, b, paging));
    const sessions = found.slice(0, paging.limit);
    const last = sessions.at(-1);
    return {
      sessions: sessions.map((summary) => ({ ...summary, holder: this.#liveHolder(summary.session) })),
      next: last && found.length > paging.limit ? cursorAfter(last, paging) : undefined,
    };
  }

  async claim(session: string, owner: string, ttl = 30_000): Promise<Lease> {
    this.#open();
    const holder = this.#liveHolder(session);
    if (holder !== undefined && holder !== owner) throw heldBy(session, holder);
    const before = this.#leases.get(session);
    const epoch = before?.owner === owner ? before.epoch : (before?.epoch ?? 0) + 1;
    this.#leases.set(session, { owner, epoch, expires: Date.now() + ttl });
    return { session, owner, epoch };
  }

  async renew(lease: Lease, ttl = 30_000): Promise<void> {
    this.#open();
    this.#authorize(lease.session, lease);
    this.#leases.set(lease.session, { owner: lease.owner, epoch: lease.epoch, expires: Date.now() + ttl });
  }

  async release(lease: Lease): Promise<void> {
    this.#open();
    const holding = this.#leases.get(lease.session);
    if (holding?.owner === lease.owner && holding.epoch === lease.epoch) holding.owner = undefined;
  }

  async delete(session: string): Promise<void> {
    this.#open();
    this.#logs.delete(session);
    this.#leases.delete(session);
  }

  async putBlobs(blobs: ReadonlyMap<string, Uint8Array>): Promise<void> {
    this.#open();
    checkBlobs(blobs);
    for (const [hash, bytes] of blobs) {
      this.#blobs.set(hash, { bytes: this.#blobs.get(hash)?.bytes ?? Uint8Array.from(bytes), usedAt: Date.now() });
    }
  }

  async missingBlobs(hashes: readonly string[]): Promise<string[]> {
    this.#open();
    return hashes.filter((hash) => {
      const blob = this.#blobs.get(hash);
      if (blob) blob.usedAt = Date.now();
      return !blob;
    });
  }

  async readBlobs(hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    this.#open();
    const found = hashes.flatMap((hash): [string, Uint8Array][] => {
      const blob = this.#blobs.get(hash);
      return blob ? [[hash, Uint8Array.from(blob.bytes)]] : [];
    });
    return new Map(found);
  }

  async namedLibraries(): Promise<string[]> {
    this.#open();
    const firsts = [...this.#logs.values()].map(({ rows: [first] }) => JSON.parse(first?.data ?? '{}'));
    return [...new Set((firsts as { library?: string }[]).flatMap(({ library }) => library ?? []))];
  }

  async dropBlobs(kept: ReadonlySet<string>, unusedFor: number): Promise<number> {
    this.#open();
    const before = Date.now() - unusedFor;
    const doomed = [...this.#blobs].filter(([hash, { usedAt }]) => usedAt < before && !kept.has(hash));
    for (const [hash] of doomed) this.#blobs.delete(hash);
    return doomed.length;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#followers.close();
  }

  follow(session: string, fromSeq: number, signal: AbortSignal): AsyncIterable<StoredEvent> {
    this.#open();
    return this.#followers.follow(session, fromSeq, signal, async (from) => {
      const events = await this.read(session, from);
      return { events, lastSeq: from + events.length };
    });
  }

  #open(): void {
    if (this.#closed) throw storeClosed();
  }

  #authorize(session: string, lease: Lease | undefined): void {
    const holding = this.#leases.get(session);
    if (lease) {
      const holds = lease.session === session && holding?.owner === lease.owner && holding.epoch === lease.epoch;
      if (!holds) throw leaseLost(lease, this.#liveHolder(session));
    } else {
      const holder = this.#liveHolder(session);
      if (holder !== undefined) throw heldBy(session, holder);
    }
  }

  #liveHolder(session: string): string | undefined {
    const holding = this.#leases.get(session);
    if (holding?.owner === undefined || holding.expires <= Date.now()) return undefined;
    return mayBeAlive(holding.owner) ? holding.owner : undefined;
  }
}

function matches(summary: Summary, filter: ListFilter): boolean {
  const { parent } = filter;
  return (
    (filter.kind === undefined || summary.kind === filter.kind) &&
    (filter.root === undefined || summary.root === filter.root) &&
    (filter.cwd === undefined || summary.cwd === filter.cwd) &&
    (!filter.open || summary.status === 'open') &&
    (filter.idPrefix === undefined || summary.session.startsWith(filter.idPrefix)) &&
    (parent === undefined || summary.parent?.session === parent.session) &&
    (parent?.call === undefined || summary.parent?.call === parent.call)
  );
}

function comesAfter(summary: Summary, paging: Paging): boolean {
  if (!paging.after) return true;
  const { time, session } = paging.after;
  const order = compareText(timeOf(summary, paging), time) || compareText(summary.session, session);
  return paging.newest ? order < 0 : order > 0;
}

function compare(a: Summary, b: Summary, paging: Paging): number {
  const order = compareText(timeOf(a, paging), timeOf(b, paging)) || compareText(a.session, b.session);
  return paging.newest ? -order : order;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
