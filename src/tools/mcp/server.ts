import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../../core/errors.ts';
import { packageRoot } from '../../core/prompts.ts';
import { oneLine } from '../../core/text.ts';
import { timerDelay } from '../../core/timer.ts';
import { wildcardMatches } from '../../core/wildcard.ts';
import { coalesced } from '../coalesced.ts';
import { problem, type ToolProblem } from '../tool-problem.ts';
import { Connection } from './connection.ts';
import { listTools, type McpTool } from './listing.ts';
import type { McpServerSettings } from './settings.ts';

/** Milliseconds, where the settings of a server say nothing. */
const START_TIMEOUT = 30_000;
const CALL_TIMEOUT = 120_000;

/** A server that did not start is tried again after so long, in milliseconds. */
const RETRY_AFTER = 60_000;

/** Between two lines of progress of a call, in milliseconds. */
const PROGRESS_PAUSE = 200;

/** Between two looks at a list that keeps changing, in milliseconds. */
const LIST_PAUSE = 1_000;

const CLOSED = 'the runtime is closed';

/** The SDK's code of a request that took too long. */
const REQUEST_TIMEOUT = -32001;

export type ServerState = 'starting' | 'ready' | 'failed';

export interface McpServerOptions {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
}

/**
 * One server, kept up: it is started in the background, started again when it has died and is needed,
 * and given up for a while when it does not start.
 */
export class McpServer {
  readonly name: string;
  readonly settings: McpServerSettings;
  state: ServerState = 'starting';
  /** Why it failed, or what is odd about it. */
  problem = '';
  tools: readonly McpTool[] = [];
  readonly #connection: Connection;
  #client: Promise<Client> | undefined;
  /** The client that is about to connect. */
  #connecting: Client | undefined;
  /** Clients whose server has forgotten them. */
  readonly #left = new WeakSet<Client>();
  #stopped = false;
  #failedAt = 0;

  constructor(settings: McpServerSettings, options: McpServerOptions) {
    this.name = settings.name;
    this.settings = settings;
    this.#connection = new Connection(settings, options);
  }

  /** Resolves when the server is ready or has failed; never rejects. */
  async start(): Promise<void> {
    await this.#connected().catch(() => {});
  }

  /** Starts it in the background when it has failed and some time has passed. */
  retry(): void {
    if (this.state === 'failed' && Date.now() - this.#failedAt >= RETRY_AFTER) void this.start();
  }

  /** @throws ToolProblem when the server is away or takes too long; its own errors are results. */
  async call(
    tool: string,
    input: Record<string, unknown>,
    options: { signal: AbortSignal; onProgress: (text: string) => void },
  ): Promise<CallToolResult> {
    const client = await this.#clientFor(options.signal);
    try {
      return await this.#callWith(client, tool, input, options);
    } catch (error) {
      options.signal.throwIfAborted();
      if (!isSessionLost(error)) throw this.#callProblem(tool, error);
      this.#leave(client);
    }
    // It has restarted, or thrown our session away, and has not run this: a new one may.
    const next = await this.#clientFor(options.signal);
    try {
      return await this.#callWith(next, tool, input, options);
    } catch (error) {
      options.signal.throwIfAborted();
      throw this.#callProblem(tool, error);
    }
  }

  async #clientFor(signal: AbortSignal): Promise<Client> {
    try {
      return await abortable(this.#connected(), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw problem('mcp-away', { server: this.name, why: messageOf(error) }, { cause: error });
    }
  }

  async #callWith(
    client: Client,
    tool: string,
    input: Record<string, unknown>,
    options: { signal: AbortSignal; onProgress: (text: string) => void },
  ): Promise<CallToolResult> {
    const timeout = this.#callTimeout;
    const line = coalesced(options.onProgress, PROGRESS_PAUSE);
    try {
      const request = { name: tool, arguments: input };
      return (await client.callTool(request, undefined, {
        signal: options.signal,
        timeout,
        maxTotalTimeout: timeout,
        onprogress: ({ message, progress, total }) =>
          line.show(message ?? (total === undefined ? String(progress) : `${progress} of ${total}`)),
      })) as CallToolResult;
    } finally {
      line.stop();
    }
  }

  #callProblem(tool: string, error: unknown): ToolProblem {
    const named = { server: this.name, tool };
    if (isTimeout(error))
      return problem('mcp-timeout', { ...named, seconds: this.#callTimeout / 1000 }, { cause: error });
    const why = shapeProblem(error);
    if (why !== undefined) return problem('mcp-shape', { ...named, why }, { cause: error });
    return problem('mcp-failed', { ...named, why: this.#connection.masked(messageOf(error)) }, { cause: error });
  }

  get #callTimeout(): number {
    return timerDelay(this.settings.call_timeout ?? CALL_TIMEOUT);
  }

  /** Has the next call connect anew; many calls may find at once that a connection is of no use. */
  #leave(client: Client): void {
    if (this.#left.has(client)) return;
    this.#left.add(client);
    this.#client = undefined;
    void client.close().catch(() => {});
  }

  async close(): Promise<void> {
    this.#stopped = true;
    // One that never answers would hold us for its whole time to start.
    await this.#connecting?.close().catch(() => {});
    const client = await this.#client?.catch(() => undefined);
    await client?.close().catch(() => {});
  }

  /** One connection for all that ask at once; after its end the next call makes another. */
  #connected(): Promise<Client> {
    if (this.#stopped) return Promise.reject(new Error(CLOSED));
    this.#client ??= this.#connect().then(
      (client) => {
        this.state = 'ready';
        this.problem = '';
        return client;
      },
      (error: unknown) => {
        this.#client = undefined;
        this.state = 'failed';
        this.#failedAt = Date.now();
        this.problem = this.#connection.masked(messageOf(error));
        throw new Error(this.problem, { cause: error });
      },
    );
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
    const client = new Client({ name: 'reasonix', version: await ownVersion() }, { capabilities: {} });
    const transport = await this.#connection.transport();
    const timeout = timerDelay(this.settings.start_timeout ?? START_TIMEOUT);
    client.setNotificationHandler(ToolListChangedNotificationSchema, this.#relister(client, timeout));
    try {
      if (this.#stopped) throw new Error(CLOSED);
      this.#connecting = client;
      await client.connect(transport, { timeout, maxTotalTimeout: timeout });
      this.tools = await this.#list(client, timeout);
    } catch (error) {
      await client.close().catch(() => {});
      const complaint = 'complaint' in transport ? String(transport.complaint) : '';
      const why = startProblem(error, timeout);
      throw new Error(complaint === '' ? why : `${why}; it said: ${complaint}`, { cause: error });
    } finally {
      this.#connecting = undefined;
    }
    client.onclose = () => {
      if (this.#stopped || this.#left.has(client)) return;
      this.#client = undefined;
      this.problem = 'its connection ended; the next call starts it again';
    };
    return client;
  }

  #list(client: Client, timeout: number): Promise<McpTool[]> {
    return listTools(client, (name) => this.#isWanted(name), timeout);
  }

  /** Reads the list again when it has changed; changes that are told meanwhile are one, after a pause. */
  #relister(client: Client, timeout: number): () => void {
    let isListing = false;
    let isStale = false;
    const relist = async (): Promise<void> => {
      isListing = true;
      isStale = false;
      try {
        this.tools = await this.#list(client, timeout);
      } catch (error) {
        const why = this.#connection.masked(messageOf(error));
        if (!this.#stopped) this.problem = `its new list of tools could not be read: ${why}`;
      }
      await delay(LIST_PAUSE, undefined, { ref: false });
      isListing = false;
      if (isStale && !this.#stopped && client.transport !== undefined) await relist();
    };
    return () => {
      isStale = true;
      if (!isListing) void relist();
    };
  }

  #isWanted(name: string): boolean {
    const { tools, exclude_tools: excluded = [] } = this.settings;
    const matches = (pattern: string) => wildcardMatches(pattern, name);
    return (tools?.some(matches) ?? true) && !excluded.some(matches);
  }
}

async function ownVersion(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  return version;
}

const isTimeout = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === REQUEST_TIMEOUT;

/** Asked of the error itself: the class is loaded with the transport. */
const isSessionLost = (error: unknown): boolean =>
  (error as { isSessionLost?: unknown } | null)?.isSessionLost === true;

/** Why a server did not start. */
function startProblem(error: unknown, timeout: number): string {
  if (isTimeout(error)) return `it did not answer within ${timeout / 1000} s: check its entry, or raise start_timeout`;
  const why = shapeProblem(error);
  return why === undefined ? messageOf(error) : `what it answered is none of MCP (${why})`;
}

/** What is wrong with an answer that the SDK's schema refused, in a line; `undefined` for any other error. */
function shapeProblem(error: unknown): string | undefined {
  const { issues } = (error ?? {}) as { issues?: { path?: PropertyKey[]; message?: string }[] };
  if (!(error instanceof Error) || !Array.isArray(issues)) return undefined;
  const [first] = issues;
  return oneLine(`${first?.path?.map(String).join('.') || 'the result'}: ${first?.message ?? 'unknown'}`);
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
