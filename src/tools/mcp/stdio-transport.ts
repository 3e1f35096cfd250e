import { type ChildProcess, spawn } from 'node:child_process';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isObject } from '../../core/is-object.ts';
import { endGroup, tieToProcess } from '../process-group.ts';
import { LONGEST_MESSAGE, messageIn, TOO_LONG } from './message.ts';

/** Newest part of what a server says on its standard error, kept to explain its end, in characters. */
const KEPT_STDERR = 2_000;

export interface StdioOptions {
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
}

/**
 * A server that is a child process: one JSON message a line. Unlike the SDK's own transport it bounds a
 * message, leads a process group that ends as a whole, and keeps what the server complained of.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  readonly #options: StdioOptions;
  #child: ChildProcess | undefined;
  #parts: Buffer[] = [];
  #size = 0;
  #stderr = '';
  readonly #progress = new Map<unknown, JSONRPCMessage>();

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  /** The last that the server wrote on its standard error. */
  get complaint(): string {
    return this.#stderr.trim();
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#options;
    const child = spawn(command, [...args], {
      env,
      cwd,
      detached: process.platform !== 'win32',
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
    this.#child = child;
    child.stdout.on('data', (data: Buffer) => this.#take(data));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR);
    });
    // A server that is gone must not take us along.
    child.stdin.on('error', () => {});
    return new Promise((resolve, reject) => {
      child.once('error', (error) => {
        reject(error);
        this.#ended();
      });
      child.once('spawn', () => {
        const untie = tieToProcess(child.pid ?? 0);
        // Not its exit: what it has started may go on in its group, with our end of its output.
        child.once('close', untie);
        // A running server keeps no process of ours alive: whoever waits for a call does.
        child.unref();
        for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as { unref?: () => void }).unref?.();
        resolve();
      });
      child.once('close', () => this.#ended());
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {};
    if (!stdin?.writable) return Promise.reject(new Error('the server has ended'));
    return new Promise((resolve, reject) => {
      stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.stdin?.end();
    if (child.pid !== undefined) await endGroup(child.pid, 500);
    this.#ended();
  }

  #ended(): void {
    if (!this.#child) return;
    this.#child = undefined;
    this.onclose?.();
  }

  #take(data: Buffer): void {
    let rest = data;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = this.#parts.length === 0 ? rest.toString('utf8', 0, end) : this.#joined(rest.subarray(0, end));
      this.#parts = [];
      this.#size = 0;
      rest = rest.subarray(end + 1);
      this.#message(line);
    }
    this.#flush();
    if (rest.length > 0) this.#parts.push(rest);
    this.#size += rest.length;
    if (this.#size > LONGEST_MESSAGE) {
      this.#parts = [];
      this.#size = 0;
      this.onerror?.(new Error(TOO_LONG));
      void this.close();
    }
  }

  #joined(end: Buffer): string {
    return Buffer.concat([...this.#parts, end]).toString('utf8');
  }

  #message(line: string): void {
    if (line.trim() === '') return;
    const message = messageIn(line);
    if (message === undefined) {
      // Servers print banners and logs where only messages belong.
      this.#stderr = `${this.#stderr}${line}\n`.slice(-KEPT_STDERR);
      return;
    }
    const { method, params } = message as { method?: unknown; params?: unknown };
    if (method === 'notifications/progress' && isObject(params)) {
      this.#progress.set(params.progressToken, message);
      return;
    }
    this.#flush();
    this.onmessage?.(message);
  }

  /** Of a storm of progress that arrives together, the newest of each call is worth a look. */
  #flush(): void {
    for (const message of this.#progress.values()) this.onmessage?.(message);
    this.#progress.clear();
  }
}
