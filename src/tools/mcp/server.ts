import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../../core/errors.ts';
import { packageRoot } from '../../core/prompts.ts';
import { oneLine } from '../../core/text.ts';
import { wildcardMatches } from '../../core/wildcard.ts';
import { coalesced } from '../coalesced.ts';
import { commandEnvironment } from '../shell-environment.ts';
import { problem } from '../tool-problem.ts';
import { listTools, type McpTool } from './listing.ts';
import { expandVariables, type McpServerSettings } from './settings.ts';

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
  readonly #options: McpServerOptions;
  #client: Promise<Client> | undefined;
  /** The client that is about to connect. */
  #connecting: Client | undefined;
  #stopped = false;
  #failedAt = 0;

  constructor(settings: McpServerSettings, options: McpServerOptions) {
    this.name = settings.name;
    this.settings = settings;
    this.#options = options;
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
    const timeout = this.settings.call_timeout ?? CALL_TIMEOUT;
    let client: Client;
    try {
      client = await abortable(this.#connected(), options.signal);
    } catch (error) {
      options.signal.throwIfAborted();
      throw problem('mcp-away', { server: this.name, why: messageOf(error) }, { cause: error });
    }
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
    } catch (error) {
      options.signal.throwIfAborted();
      if ((error as { code?: unknown }).code === REQUEST_TIMEOUT) {
        throw problem('mcp-timeout', { server: this.name, tool, seconds: timeout / 1000 }, { cause: error });
      }
      const why = shapeProblem(error);
      if (why !== undefined) throw problem('mcp-shape', { server: this.name, tool, why }, { cause: error });
      throw problem('mcp-failed', { server: this.name, tool, why: messageOf(error) }, { cause: error });
    } finally {
      line.stop();
    }
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
        this.problem = messageOf(error);
        throw error;
      },
    );
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
    const client = new Client({ name: 'reasonix', version: await ownVersion() }, { capabilities: {} });
    const transport = await this.#transport();
    const timeout = this.settings.start_timeout ?? START_TIMEOUT;
    client.setNotificationHandler(ToolListChangedNotificationSchema, this.#relister(client, timeout));
    try {
      if (this.#stopped) throw new Error(CLOSED);
      this.#connecting = client;
      await client.connect(transport, { timeout, maxTotalTimeout: timeout });
      this.tools = await this.#list(client, timeout);
    } catch (error) {
      await client.close().catch(() => {});
      const complaint = 'complaint' in transport ? String(transport.complaint) : '';
      throw complaint === '' ? error : new Error(`${messageOf(error)}; it said: ${complaint}`, { cause: error });
    } finally {
      this.#connecting = undefined;
    }
    client.onclose = () => {
      if (this.#stopped) return;
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
        if (!this.#stopped) this.problem = `its new list of tools could not be read: ${messageOf(error)}`;
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

  async #transport(): Promise<Transport> {
    const { command, args = [], env = {}, pass_env: passed = [], url, headers = {}, cwd } = this.settings;
    const missing = new Set<string>();
    const expand = (text: string) => expandVariables(text, this.#options.env, (name) => missing.add(name));
    const given = (values: Record<string, string>) =>
      Object.fromEntries(Object.entries(values).map(([name, text]) => [name, expand(text)]));
    if (url !== undefined) {
      const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
      const options = { requestInit: { headers: given(headers) } };
      const address = expand(url);
      this.#complainOf(missing);
      return new StreamableHTTPClientTransport(new URL(address), options) as Transport;
    }
    const { StdioTransport } = await import('./stdio-transport.ts');
    const base = commandEnvironment({ ...this.#options.env }, { keep: passed });
    const options = {
      command: expand(command ?? ''),
      args: args.map(expand),
      env: { ...base, ...given(env) },
      cwd: cwd ?? this.#options.cwd,
    };
    this.#complainOf(missing);
    return new StdioTransport(options);
  }

  #complainOf(missing: ReadonlySet<string>): void {
    if (missing.size > 0) throw new Error(`these variables are not set: ${[...missing].join(', ')}`);
  }
}

async function ownVersion(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
  return version;
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
