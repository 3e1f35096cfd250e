import { ReasonixError } from '../core/errors.ts';
import type { SessionEvent, StoredEvent } from '../core/events.ts';
import { checkBlobs } from './blobs.ts';
import { encodeEvents } from './codec.ts';
import type {
  BlobStore,
  ClockedStore,
  FollowableStore,
  Lease,
  ListFilter,
  Page,
  ReadOptions,
  SessionSummary,
} from './contract.ts';
import { storeClosed } from './errors.ts';
import { Followers } from './followers.ts';
import { Announcer } from './postgres/announcer.ts';
import { Blobs } from './postgres/blobs.ts';
import { Connection } from './postgres/connection.ts';
import { Leases } from './postgres/leases.ts';
import { Listener } from './postgres/listener.ts';
import { Log } from './postgres/log.ts';
import { migrate } from './postgres/schema.ts';
import { ServerClock } from './postgres/server-clock.ts';
import { listSessions } from './postgres/summaries.ts';

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`; what it leaves out comes from the `PG…` environment. */
  url: string;
  /** Where the tables are; lower-case letters, digits and `_`. Default `reasonix`. */
  schema?: string | undefined;
  /**
   * The server's own address, for following logs, when `url` is that of a pooler in transaction mode.
   * Default `url`.
   */
  listenUrl?: string | undefined;
  /** Connections at once. Default 10. */
  poolSize?: number | undefined;
  /** How long to wait for a server that is away before an error, in milliseconds. Default 30,000. */
  patience?: number | undefined;
  /** How often to look while following, whatever notifications say, in milliseconds. Default 2,000. */
  pollInterval?: number | undefined;
  /** Hears what was wrong and got around. Default: a process warning. */
  onProblem?: ((text: string) => void) | undefined;
}

/**
 * Opens the store that many machines share, making its tables when they are missing.
 * @throws ReasonixError `config` without the package `pg` or with a bad schema name; `store` when the
 * server cannot be reached or the tables belong to a newer version.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<FollowableStore & BlobStore> {
  const { url, schema = 'reasonix', listenUrl = url, poolSize = 10, patience = 30_000 } = options;
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) {
    throw new ReasonixError('config', `store.schema ${JSON.stringify(schema)} is no name of a schema`, {
      hint: 'use lower-case letters, digits and _',
    });
  }
  const onProblem = options.onProblem ?? ((text: string) => process.emitWarning(text, 'ReasonixStore'));
  const connection = await Connection.open({ url, schema, poolSize, patience, onProblem });
  const clock = new ServerClock(connection.query);
  try {
    await migrate(connection);
    await clock.look();
  } catch (error) {
    await connection.close();
    throw error;
  }
  return new SharedStore(connection, { clock, listenUrl, pollInterval: options.pollInterval ?? 2_000, onProblem });
}

interface Settings {
  clock: ServerClock;
  listenUrl: string;
  pollInterval: number;
  onProblem: (text: string) => void;
}

class SharedStore implements FollowableStore, BlobStore, ClockedStore {
  readonly #settings: Settings;
  readonly #connection: Connection;
  readonly #leases: Leases;
  readonly #log: Log;
  readonly #blobs: Blobs;
  readonly #followers: Followers;
  readonly #listener: Listener;
  readonly #announcer: Announcer;
  /** Appends of one session go out in the order in which they were asked for. */
  readonly #appending = new Map<string, Promise<unknown>>();
  #poll: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(connection: Connection, settings: Settings) {
    this.#settings = settings;
    this.#connection = connection;
    this.#leases = new Leases(connection);
    this.#log = new Log(connection, this.#leases, settings.clock);
    this.#blobs = new Blobs(connection);
    this.#followers = new Followers((count) => this.#followWhile(count > 0));
    const channel = `${connection.schema}_events`;
    this.#announcer = new Announcer((sessions) =>
      connection.once('select pg_notify($1, session) from unnest($2::text[]) as session', [channel, sessions]),
    );
    this.#listener = new Listener({
      url: settings.listenUrl,
      channel,
      notify: () => connection.query('select pg_notify($1, $2)', [channel, '']),
      onAppend: (session) => this.#followers.notify(session),
      onGap: () => this.#followers.notifyAll(),
      onProblem: settings.onProblem,
    });
  }

  async append(
    session: string,
    expectedSeq: number,
    events: readonly SessionEvent[],
    lease?: Lease,
  ): Promise<StoredEvent[]> {
    this.#open();
    const encoded = encodeEvents(session, expectedSeq, events);
    const before = this.#appending.get(session) ?? Promise.resolve();
    const appended = before.then(() => this.#log.append(session, expectedSeq, encoded, lease));
    const settled = appended.catch(() => {});
    this.#appending.set(session, settled);
    try {
      const result = await appended;
      this.#followers.notify(session);
      this.#announcer.announce(session);
      return result;
    } finally {
      if (this.#appending.get(session) === settled) this.#appending.delete(session);
    }
  }

  async read(session: string, fromSeq = 0, options?: ReadOptions): Promise<StoredEvent[]> {
    this.#open();
    const { events } = await this.#log.read(session, fromSeq, this.#settings.onProblem, options);
    return events;
  }

  async list(filter?: ListFilter, page?: Page): Promise<{ sessions: SessionSummary[]; next?: string | undefined }> {
    this.#open();
    return listSessions(this.#connection, filter, page);
  }

  async claim(session: string, owner: string, ttl = 30_000): Promise<Lease> {
    this.#open();
    return this.#leases.claim(session, owner, ttl);
  }

  async renew(lease: Lease, ttl = 30_000): Promise<void> {
    this.#open();
    await this.#leases.renew(lease, ttl);
  }

  async release(lease: Lease): Promise<void> {
    this.#open();
    await this.#leases.release(lease);
  }

  clockAhead(): number {
    return this.#settings.clock.ahead;
  }

  async delete(session: string): Promise<void> {
    this.#open();
    await this.#log.delete(session);
  }

  async putBlobs(blobs: ReadonlyMap<string, Uint8Array>): Promise<void> {
    this.#open();
    checkBlobs(blobs);
    await this.#blobs.put(blobs);
  }

  async missingBlobs(hashes: readonly string[]): Promise<string[]> {
    this.#open();
    return this.#blobs.missing(hashes);
  }

  async readBlobs(hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    this.#open();
    return this.#blobs.read(hashes);
  }

  async namedLibraries(): Promise<string[]> {
    this.#open();
    return this.#blobs.named();
  }

  async dropBlobs(kept: ReadonlySet<string>, unusedFor: number): Promise<number> {
    this.#open();
    return this.#blobs.drop(kept, unusedFor);
  }

  follow(session: string, fromSeq: number, signal: AbortSignal): AsyncIterable<StoredEvent> {
    this.#open();
    return this.#followers.follow(session, fromSeq, signal, (from) =>
      this.#log.read(session, from, this.#settings.onProblem),
    );
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#followers.close();
      this.#followWhile(false);
      await Promise.allSettled([...this.#appending.values()]);
      await this.#announcer.settled();
      await this.#listener.close();
      await this.#connection.close();
    })();
    return this.#closing;
  }

  #open(): void {
    if (this.#closing) throw storeClosed();
  }

  #followWhile(following: boolean): void {
    const wanted = following && !this.#closing;
    this.#listener.listenWhile(wanted);
    if (!wanted) {
      clearInterval(this.#poll);
      this.#poll = undefined;
    } else {
      this.#poll ??= setInterval(() => this.#followers.notifyAll(), this.#settings.pollInterval);
    }
  }
}
