import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../../core/errors.ts';
import { packageRoot } from '../../core/prompts.ts';
import { wildcardMatches } from '../../core/wildcard.ts';
import { commandEnvironment } from '../shell-environment.ts';
import { problem } from '../tool-problem.ts';
import { expandVariables, type McpServerSettings } from './settings.ts';

const START_TIMEOUT = 30_000;
const CALL_TIMEOUT = 120_000;

/** Most tools that are taken from one server, and pages of its list that are asked for. */
const MOST_TOOLS = 1_000;
const MOST_PAGES = 50;

export type ServerState = 'starting' | 'ready' | 'failed';

export interface McpServerOptions {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Told when the list of tools has changed. */
  onChange(): void;
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
  #stopped = false;

  constructor(settings: McpServerSettings, options: McpServerOptions) {
    this.name = settings.name;
    this.settings = settings;
    this.#options = options;
  }

  /** Resolves when the server is ready or has failed; never rejects. */
  async start(): Promise<void> {
    await this.#connected().catch(() => {});
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
    try {
      const request = { name: tool, arguments: input };
      return (await client.callTool(request, undefined, {
        signal: options.signal,
        timeout,
        maxTotalTimeout: timeout,
        onprogress: ({ message, progress, total }) =>
          options.onProgress(message ?? (total === undefined ? String(progress) : `${progress} of ${total}`)),
      })) as CallToolResult;
    } catch (error) {
      options.signal.throwIfAborted();
      if ((error as { code?: unknown }).code === REQUEST_TIMEOUT) {
        throw problem('mcp-timeout', { server: this.name, tool, seconds: timeout / 1000 }, { cause: error });
      }
      throw problem('mcp-failed', { server: this.name, tool, why: messageOf(error) }, { cause: error });
    }
  }

  async close(): Promise<void> {
    this.#stopped = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.close().catch(() => {});
  }

  /** One connection for all that ask at once; after its end the next call makes another. */
  #connected(): Promise<Client> {
    if (this.#stopped) return Promise.reject(new Error('the runtime is closed'));
    this.#client ??= this.#connect().then(
      (client) => {
        this.state = 'ready';
        this.problem = '';
        return client;
      },
      (error: unknown) => {
        this.#client = undefined;
        this.state = 'failed';
        this.problem = messageOf(error);
        throw error;
      },
    );
    return this.#client;
  }

  async #connect(): Promise<Client> {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const client = new Client({ name: 'reasonix', version: await ownVersion() }, { capabilities: {} });
    const transport = await this.#transport();
    const timeout = this.settings.start_timeout ?? START_TIMEOUT;
    try {
      await client.connect(transport, { timeout, maxTotalTimeout: timeout });
      await this.#list(client, timeout);
    } catch (error) {
      await client.close().catch(() => {});
      const complaint = 'complaint' in transport ? String(transport.complaint) : '';
      throw complaint === '' ? error : new Error(`${messageOf(error)}; it said: ${complaint}`, { cause: error });
    }
    client.onclose = () => {
      if (this.#stopped) return;
      this.#client = undefined;
      this.problem = 'its connection ended; the next call starts it again';
    };
    const { ToolListChangedNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
    client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      await this.#list(client, timeout).catch((error: unknown) => {
        this.problem = `its new list of tools could not be read: ${messageOf(error)}`;
      });
      this.#options.onChange();
    });
    this.#options.onChange();
    return client;
  }

  async #list(client: Client, timeout: number): Promise<void> {
    const found = new Map<string, McpTool>();
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES && found.size < MOST_TOOLS; page++) {
      const { tools, nextCursor } = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout });
      for (const tool of tools) if (this.#isWanted(tool.name)) found.set(tool.name, tool);
      if (nextCursor === undefined || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    this.tools = [...found.values()].slice(0, MOST_TOOLS);
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

/** The SDK's code of a request that took too long. */
const REQUEST_TIMEOUT = -32001;

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise<T>((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
