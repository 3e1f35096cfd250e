import type { SessionEvent, StoredEvent, TurnStatus } from '../core/events.ts';

/** The right to append to one session. Its epoch rises with every change of hands. */
export interface Lease {
  session: string;
  owner: string;
  epoch: number;
}

export interface SessionSummary {
  session: string;
  kind: 'root' | 'child';
  root: string;
  parent?: { session: string; call: string } | undefined;
  skill?: string | undefined;
  /** First line of the first user message. */
  title: string;
  cwd: string;
  model: string;
  depth: number;
  /** ISO 8601 of the first and the last event. */
  createdAt: string;
  updatedAt: string;
  lastSeq: number;
  /** `open` while a turn has no end: running if `holder` is set, else interrupted, or left to workers. */
  status: 'idle' | 'open' | TurnStatus;
  /** The owner of a live lease. */
  holder?: string | undefined;
}

export interface ListFilter {
  kind?: 'root' | 'child' | undefined;
  root?: string | undefined;
  /** Children of this session, or of one of its calls. */
  parent?: { session: string; call?: string | undefined } | undefined;
  cwd?: string | undefined;
  /** Sessions whose newest turn has no end. */
  open?: true | undefined;
  /** Sessions whose id starts with this text. */
  idPrefix?: string | undefined;
}

export interface Page {
  /** Rows to return: 1 to 1,000, default 100. */
  limit?: number | undefined;
  /** The `next` of the page before. */
  cursor?: string | undefined;
  /** Newest first by default. */
  order?: 'newest' | 'oldest' | undefined;
  /**
   * What makes a session new: its first event (default; pages are stable while sessions run), or its
   * last one.
   */
  by?: 'created' | 'updated' | undefined;
}

export interface ReadOptions {
  /**
   * For whoever goes on with the session: refuses what another version wrote and this one would lose.
   * A store of one machine, where one version follows the other, may ignore it. Default false.
   */
  whole?: boolean | undefined;
}

/**
 * Where session logs live. An append is durable when its promise resolves. Every
 * implementation passes `test/store/conformance.ts`.
 */
export interface SessionStore {
  /**
   * Appends all of `events` or none. `expectedSeq` is the sequence number of the last event the
   * caller has seen, 0 for a new session.
   * @throws ReasonixError `session_busy` when another writer was faster or holds the lease;
   * `stale_writer` when `lease` has lost its session; `store_full` when the disk is; `session_not_found`
   * when events are expected and there are none; `session_invalid` when an event does not validate.
   */
  append(session: string, expectedSeq: number, events: readonly SessionEvent[], lease?: Lease): Promise<StoredEvent[]>;
  /**
   * Events after `fromSeq` (default 0: all), in order. An unknown session has none. An event that
   * cannot be read is left out and reported; the others keep their sequence numbers.
   * @throws ReasonixError with `whole` alone: `session_newer` when an event is of a kind that this version does not know.
   */
  read(session: string, fromSeq?: number, options?: ReadOptions): Promise<StoredEvent[]>;
  list(filter?: ListFilter, page?: Page): Promise<{ sessions: SessionSummary[]; next?: string | undefined }>;
  /**
   * Takes the lease for `ttl` milliseconds (default 30,000): free, expired, or held by a process of
   * this machine that no longer lives. The owner that has it already keeps it, with its epoch.
   * @throws ReasonixError `session_busy` with `details.holder`.
   */
  claim(session: string, owner: string, ttl?: number): Promise<Lease>;
  /** Prolongs a lease; throws `stale_writer` when it was lost. */
  renew(lease: Lease, ttl?: number): Promise<void>;
  release(lease: Lease): Promise<void>;
  /** Removes the log. Its children are not touched. */
  delete(session: string): Promise<void>;
  close(): Promise<void>;
}

/** Optional capability: being told about events as they are appended, by any process. */
export interface FollowableStore extends SessionStore {
  /** Events after `fromSeq`, then new ones until `signal` aborts. */
  follow(session: string, fromSeq: number, signal: AbortSignal): AsyncIterable<StoredEvent>;
}

export const canFollow = (store: SessionStore): store is FollowableStore => 'follow' in store;

/** Optional capability: events say when they were by another clock than this process's. */
export interface ClockedStore extends SessionStore {
  /** Milliseconds that the store's clock is ahead of this process's. */
  clockAhead(): number;
}

/** A moment by the store's clock, epoch milliseconds, as one of this process. */
export const momentHere = (store: SessionStore, moment: number): number =>
  'clockAhead' in store ? moment - (store as ClockedStore).clockAhead() : moment;

/**
 * Optional capability: bytes by the SHA-256 of what they are, hex, such as the skills that a session was
 * started with. What is there never changes.
 */
export interface BlobStore extends SessionStore {
  /**
   * Keeps blobs; those that are there stay, and count as used now.
   * @throws ReasonixError `usage` when a name is not the hash of its bytes, and then none is kept.
   */
  putBlobs(blobs: ReadonlyMap<string, Uint8Array>): Promise<void>;
  /** Those of `hashes` that are not there; the others count as used now. */
  missingBlobs(hashes: readonly string[]): Promise<string[]>;
  /** Those of `hashes` that are there, as they were put: whoever reads them compares the hash. */
  readBlobs(hashes: readonly string[]): Promise<Map<string, Uint8Array>>;
  /** Every `library` that a session of the store was started with, once. */
  namedLibraries(): Promise<string[]>;
  /**
   * Removes blobs that are not in `kept` and were not used for `unusedFor` milliseconds, give or take ten
   * minutes; one that is being asked for at this moment is not removed. Returns how many.
   */
  dropBlobs(kept: ReadonlySet<string>, unusedFor: number): Promise<number>;
}

export const hasBlobs = (store: SessionStore): store is BlobStore => 'putBlobs' in store;
