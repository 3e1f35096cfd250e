import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SessionEvent, StoredEvent } from '../core/events.ts';
import { checkBlobs } from './blobs.ts';
import { encodeEvents } from './codec.ts';
import type { BlobStore, FollowableStore, Lease, ListFilter, Page, SessionSummary } from './contract.ts';
import { storeClosed } from './errors.ts';
import { Followers } from './followers.ts';
import { Blobs } from './sqlite/blobs.ts';
import { CommitQueue, retryWhileBusy } from './sqlite/commit-queue.ts';
import type { Database, Statement } from './sqlite/driver.ts';
import { storeError } from './sqlite/faults.ts';
import { Leases } from './sqlite/leases.ts';
import { Log } from './sqlite/log.ts';
import { openDatabase } from './sqlite/open.ts';
import { Summaries } from './sqlite/summaries.ts';

export interface SqliteStoreOptions {
  /** The database file. Default: `sessions.db` in `home`. */
  path?: string | undefined;
  /** The folder of all data of a user, made private. Default: `$REASONIX_HOME`, else `~/.reasonix`. */
  home?: string | undefined;
  /** Hears what was wrong and got around, such as an event that cannot be read. Default: a process warning. */
  onProblem?: ((text: string) => void) | undefined;
  /** How long to wait for other processes before `session_busy`, in milliseconds. Default 10,000. */
  busyTimeout?: number | undefined;
  /** How often to look for events of other processes while following, in milliseconds. Default 100. */
  pollInterval?: number | undefined;
  /** Largest size of the file, in pages of 4 KiB. Default: what the disk holds. */
  maxPages?: number | undefined;
}

/** The embedded store: one SQLite file, used by any number of processes of this machine at once. */
export interface SqliteStore extends FollowableStore, BlobStore {
  readonly path: string;
  /** Makes what `list` shows anew from the logs; returns the number of sessions. */
  rebuildSummaries(): Promise<number>;
}

/**
 * Opens the store, making the file when it is missing. A damaged file is kept beside the new one, which
 * gets every event that can still be read; `onProblem` is told.
 * @throws ReasonixError `store` when the folder cannot be written or the file is not ours.
 */
export async function openSqliteStore(options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  const home = options.home ?? (process.env.REASONIX_HOME || join(homedir(), '.reasonix'));
  const path = resolve(options.path ?? join(home, 'sessions.db'));
  const settings: Settings = {
    path,
    onProblem: options.onProblem ?? ((text) => process.emitWarning(text, 'ReasonixStore')),
    busyTimeout: options.busyTimeout ?? 10_000,
    pollInterval: options.pollInterval ?? 100,
  };
  try {
    const ownFolder = options.path === undefined;
    const db = await openDatabase({ ...settings, ownFolder, maxPages: options.maxPages });
    const store = new EmbeddedStore(db, settings);
    if (store.summariesLost) await store.rebuildSummaries();
    return store;
  } catch (error) {
    throw storeError(error, path);
  }
}

interface Settings {
  path: string;
  onProblem: (text: string) => void;
  busyTimeout: number;
  pollInterval: number;
}

class EmbeddedStore implements SqliteStore {
  readonly path: string;
  readonly #settings: Settings;
  readonly #db: Database;
  readonly #queue: CommitQueue;
  readonly #summaries: Summaries;
  readonly #leases: Leases;
  readonly #log: Log;
  readonly #blobs: Blobs;
  readonly #followers: Followers;
  readonly #dataVersion: Statement;
  #seenVersion = 0;
  #poll: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: Database, settings: Settings) {
    this.path = settings.path;
    this.#settings = settings;
    this.#db = db;
    this.#queue = new CommitQueue(db, settings.busyTimeout);
    this.#summaries = new Summaries(db);
    this.#leases = new Leases(db);
    this.#log = new Log(db, settings.path, this.#summaries, this.#leases);
    this.#blobs = new Blobs(db);
    this.#followers = new Followers((count) => this.#pollWhile(count > 0));
    this.#dataVersion = db.prepare('pragma data_version');
  }

  async append(
    session: string,
    expectedSeq: number,
    events: readonly SessionEvent[],
    lease?: Lease,
  ): Promise<StoredEvent[]> {
    const encoded = encodeEvents(session, expectedSeq, events);
    const appended = await this.#write(() => this.#log.append(session, expectedSeq, encoded, lease));
    this.#followers.notify(session);
    return appended;
  }

  async read(session: string, fromSeq = 0): Promise<StoredEvent[]> {
    const { events } = await this.#read(() => this.#log.read(session, fromSeq, this.#settings.onProblem));
    return events;
  }

  list(filter?: ListFilter, page?: Page): Promise<{ sessions: SessionSummary[]; next?: string | undefined }> {
    return this.#read(() => this.#summaries.list(filter, page));
  }

  claim(session: string, owner: string, ttl = 30_000): Promise<Lease> {
    return this.#write(() => this.#leases.claim(session, owner, ttl));
  }

  renew(lease: Lease, ttl = 30_000): Promise<void> {
    return this.#write(() => this.#leases.renew(lease, ttl));
  }

  release(lease: Lease): Promise<void> {
    return this.#write(() => this.#leases.release(lease));
  }

  delete(session: string): Promise<void> {
    return this.#write(() => this.#log.delete(session));
  }

  async putBlobs(blobs: ReadonlyMap<string, Uint8Array>): Promise<void> {
    checkBlobs(blobs);
    await this.#write(() => this.#blobs.put(blobs));
  }

  missingBlobs(hashes: readonly string[]): Promise<string[]> {
    return this.#write(() => this.#blobs.missing(hashes));
  }

  readBlobs(hashes: readonly string[]): Promise<Map<string, Uint8Array>> {
    return this.#read(() => this.#blobs.read(hashes));
  }

  namedLibraries(): Promise<string[]> {
    return this.#read(() => this.#blobs.named());
  }

  dropBlobs(kept: ReadonlySet<string>, unusedFor: number): Promise<number> {
    return this.#write(() => this.#blobs.drop(kept, unusedFor));
  }

  follow(session: string, fromSeq: number, signal: AbortSignal): AsyncIterable<StoredEvent> {
    if (this.#closing) throw storeClosed();
    const { onProblem } = this.#settings;
    return this.#followers.follow(session, fromSeq, signal, (from) =>
      this.#read(() => this.#log.read(session, from, onProblem)),
    );
  }

  get summariesLost(): boolean {
    return this.#summaries.lost;
  }

  rebuildSummaries(): Promise<number> {
    return this.#write(() => this.#summaries.rebuildAll());
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#followers.close();
      this.#pollWhile(false);
      await this.#queue.close();
      if (this.#queue.wrote) tidy(this.#db);
      this.#db.close();
    })();
    return this.#closing;
  }

  async #write<T>(work: () => T): Promise<T> {
    try {
      return await this.#queue.write(work);
    } catch (error) {
      throw storeError(error, this.path);
    }
  }

  async #read<T>(work: () => T): Promise<T> {
    if (this.#closing) throw storeClosed();
    try {
      return await retryWhileBusy(work, this.#settings.busyTimeout);
    } catch (error) {
      throw storeError(error, this.path);
    }
  }

  /** One look for all followers: SQLite counts the commits of other connections. */
  #pollWhile(following: boolean): void {
    if (!following || this.#closing) {
      clearInterval(this.#poll);
      this.#poll = undefined;
      return;
    }
    if (this.#poll) return;
    this.#seenVersion = this.#version();
    this.#poll = setInterval(() => {
      const version = this.#version();
      if (version === this.#seenVersion) return;
      this.#seenVersion = version;
      this.#followers.notifyAll();
    }, this.#settings.pollInterval);
  }

  #version(): number {
    try {
      return (this.#dataVersion.get() as { data_version: number }).data_version;
    } catch {
      return this.#seenVersion;
    }
  }
}

/**
 * Brings everything into the one file and empties the write-ahead log. SQLite does so when the last
 * connection goes, but a connection stays for as long as a driver keeps its statements.
 */
function tidy(db: Database): void {
  try {
    db.exec('pragma wal_checkpoint(truncate)');
  } catch {
    // Somebody else is writing, and will do it.
  }
}
