import type { Readable, Writable } from 'node:stream';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  type ListToolsResult,
  McpError,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { describeError, messageOf, ReasonixError } from '../core/errors.ts';
import { linkSignals } from '../core/linked-signal.ts';
import { prompt } from '../core/prompts.ts';
import type { Approval, ApprovalRequest } from '../middleware/approvals.ts';
import type { OutsideCalls, OutsideOutcome } from '../runtime/outside-calls.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { ActivityText } from './activity-text.ts';
import { annotationsOf } from './annotations.ts';
import { clientApproval } from './approval.ts';
import { Progress } from './progress.ts';

/** How long calls may take to write down their ends once the client is gone, in milliseconds. */
const PATIENCE = 8_000;

export interface McpOptions {
  version: string;
  /** Working folder of the runtime, for the client's model. */
  cwd: string;
  /** Opens the runtime, once the client has said whether it can put questions to somebody. */
  open(approve: ((request: ApprovalRequest) => Promise<Approval>) | undefined): Promise<Runtime>;
  input: Readable;
  output: Writable;
  /** Ends the server, as the end of `input` does. */
  signal: AbortSignal;
  /** Told about messages that cannot be read and the like. */
  onProblem(text: string): void;
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/**
 * Speaks the Model Context Protocol until the client is gone; then every call that still runs is cancelled
 * and written down.
 */
export async function serveMcp(options: McpOptions): Promise<void> {
  const { input, signal } = options;
  const connection = new Connection(options);
  const gone = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve());
    // A message that no buffer holds ends the transport, too.
    connection.onClose(resolve);
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await connection.start();
  await gone;
  await connection.close();
}

/** One client. */
class Connection {
  readonly #options: McpOptions;
  readonly #server: Server;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #opened: Promise<{ runtime: Runtime; calls: OutsideCalls }> | undefined;
  /** What the client was told `run_skill` says. */
  #catalog: string | undefined;

  constructor(options: McpOptions) {
    this.#options = options;
    this.#server = new Server(
      { name: 'reasonix', title: 'Reasonix', version: options.version },
      {
        capabilities: { tools: { listChanged: true } },
        instructions: prompt('outside-instructions', { cwd: options.cwd }),
      },
    );
    this.#server.onerror = (error) => options.onProblem(`MCP: ${messageOf(error)}`);
    this.#server.setRequestHandler(ListToolsRequestSchema, () => this.#list());
    this.#server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => this.#tracked(params, extra));
  }

  onClose(listener: () => void): void {
    this.#server.onclose = listener;
  }

  start(): Promise<void> {
    const { input, output } = this.#options;
    return this.#server.connect(new StdioServerTransport(input, output));
  }

  async close(): Promise<void> {
    this.#closing.abort(new ReasonixError('cancelled', 'the client closed the connection'));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE);
    });
    await Promise.race([Promise.allSettled(this.#running), late]);
    clearTimeout(timer);
    await this.#server.close();
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.runtime.close();
  }

  #open(): Promise<{ runtime: Runtime; calls: OutsideCalls }> {
    this.#opened ??= this.#options
      .open(clientApproval(this.#server))
      .then((runtime) => ({ runtime, calls: runtime.outsideCalls() }))
      .catch((error: unknown) => {
        // What was in the way may be gone at the next call.
        this.#opened = undefined;
        throw error;
      });
    return this.#opened;
  }

  async #list(): Promise<ListToolsResult> {
    const { calls } = await this.#open();
    const tools = await calls.tools();
    this.#catalog = tools.find(({ name }) => name === 'run_skill')?.description;
    return {
      tools: tools.map(({ name, description, parameters }) => ({
        name,
        ...annotationsOf(name),
        description,
        inputSchema: { ...parameters, type: 'object' },
      })),
    };
  }

  async #tracked(params: CallToolRequest['params'], extra: Extra): Promise<CallToolResult> {
    const call = this.#call(params, extra);
    this.#running.add(call);
    try {
      return await call;
    } finally {
      this.#running.delete(call);
      void this.#announceChanges();
    }
  }

  async #call({ name, arguments: input = {} }: CallToolRequest['params'], extra: Extra): Promise<CallToolResult> {
    const asked = new AbortController();
    const stop = () => asked.abort(new ReasonixError('cancelled', 'the client cancelled the call'));
    if (extra.signal.aborted) stop();
    extra.signal.addEventListener('abort', stop, { once: true });
    const linked = linkSignals([this.#closing.signal, asked.signal]);
    const progress = this.#progress(extra);
    const text = new ActivityText(typeof input.name === 'string' ? input.name : name);
    try {
      progress?.tell(`${text.skill}: starting`);
      const { calls } = await this.#open();
      const outcome = await calls.call(name, input, {
        signal: linked.signal,
        observe: (observation) => {
          const line = progress && text.line(observation);
          if (line !== undefined) progress?.tell(line);
        },
      });
      if (outcome) return resultOf(outcome);
      const names = (await calls.tools()).map((tool) => tool.name).join(', ');
      throw new McpError(ErrorCode.InvalidParams, `there is no tool ${JSON.stringify(name)}; there are ${names}`);
    } catch (error) {
      if (error instanceof McpError) throw error;
      return resultOf({ texts: [describeError(error)], isError: true });
    } finally {
      await progress?.close();
      linked.unlink();
    }
  }

  #progress({ _meta, sendNotification }: Extra): Progress | undefined {
    const progressToken = _meta?.progressToken;
    if (progressToken === undefined) return undefined;
    return new Progress((progress, message) =>
      sendNotification({ method: 'notifications/progress', params: { progressToken, progress, message } }),
    );
  }

  /** Skills that came or went meanwhile make another list. */
  async #announceChanges(): Promise<void> {
    if (this.#catalog === undefined || this.#closing.signal.aborted) return;
    try {
      const { calls } = await this.#open();
      const tools = await calls.tools();
      if (tools.find(({ name }) => name === 'run_skill')?.description === this.#catalog) return;
      // Told once: the client asks for the list when it wants to know.
      this.#catalog = undefined;
      await this.#server.sendToolListChanged();
    } catch (error) {
      this.#options.onProblem(`MCP: ${messageOf(error)}`);
    }
  }
}

function resultOf({ texts, isError, run }: OutsideOutcome): CallToolResult {
  return {
    content: texts.map((text) => ({ type: 'text', text })),
    ...(run ? { structuredContent: { ...run } } : {}),
    isError,
  };
}
