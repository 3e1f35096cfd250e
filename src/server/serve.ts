import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { messageOf, ReasonixError } from '../core/errors.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createApp } from './app.ts';
import { isLoopback, Token } from './guard.ts';
import { QueueBoard } from './queues.ts';
import { Runs } from './runs.ts';
import type { Views } from './views.ts';

/** Milliseconds between signs of life of a stream; proxies mostly cut what is quiet for a minute. */
const HEARTBEAT = 15_000;

export interface ServeOptions {
  runtime: Runtime;
  views: Views;
  host: string;
  /** 0 for any that is free. */
  port: number;
  /** Default: one that is made now. Needed for all hosts but loopback. */
  token?: string | undefined;
  version: string;
  /** Milliseconds between signs of life of a stream. Default 15,000. */
  heartbeat?: number | undefined;
  onProblem(text: string): void;
}

export interface Served {
  /** `http://127.0.0.1:4000`. */
  readonly address: string;
  readonly token: string;
  /** Turns of requests that have not ended. */
  readonly running: number;
  /** Whether workers run them, so that they go on without this process. */
  readonly areElsewhere: boolean;
  /** Takes no more requests, ends streams, cancels the turns that run here and waits for their ends, `patience` milliseconds at most. */
  close(patience: number): Promise<void>;
}

/** @throws ReasonixError `usage` without a token where one is needed, `config` when the port cannot be had. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { runtime, views, host, port, version, heartbeat = HEARTBEAT, onProblem } = options;
  if (options.token === undefined && !isLoopback(host)) {
    throw new ReasonixError('usage', `${host} is open to others, and there is no token`, {
      hint: 'set REASONIX_SERVE__TOKEN (openssl rand -hex 24 makes one), or listen on 127.0.0.1',
    });
  }
  const token = new Token(options.token ?? randomBytes(24).toString('base64url'));
  const closing = new AbortController();
  const runs = new Runs(runtime, onProblem);
  const board = new QueueBoard(runtime.config, onProblem);
  const parts = { runtime, runs, views, heartbeat, closing: closing.signal, onProblem };
  const app = createApp({ parts, token, board, host, version });
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as Server;
  await listening(server, host, port);
  const { port: given } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${given}`,
    token: token.value,
    get running() {
      return runs.running;
    },
    areElsewhere: runs.areElsewhere,
    close: async (patience) => {
      closing.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      await runs.close(patience);
      server.closeAllConnections();
      await closed;
      await board.close();
    },
  };
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host.replace(/^\[(.*)\]$/, '$1'), resolve);
    });
  } catch (error) {
    throw new ReasonixError('config', `nothing can be served on ${host}:${port}: ${messageOf(error)}`, {
      hint: 'choose another --port (serve.port); 0 takes any that is free',
      cause: error,
    });
  }
}
