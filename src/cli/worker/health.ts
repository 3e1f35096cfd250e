import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf, ReasonixError } from '../../core/errors.ts';

export interface HealthOptions {
  host: string;
  port: number;
  /** Why no work can be done here now; nothing when it can. */
  unready(): Promise<string | undefined>;
  /** What is wrong although work can be done. */
  remark(): string | undefined;
  metrics(): Promise<string>;
}

/** The port that an orchestrator and Prometheus look at. */
export interface Health {
  /** `http://127.0.0.1:9090`. */
  readonly address: string;
  close(): Promise<void>;
}

/** @throws ReasonixError `config` when the port cannot be had. */
export async function serveHealth(options: HealthOptions): Promise<Health> {
  const { host, port } = options;
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'only GET\n');
    answer(path, options).then(
      ({ status, text, type }) => send(response, status, text, type),
      (error: unknown) => send(response, 500, `${messageOf(error)}\n`),
    );
  });
  await listening(server, host, port);
  const { port: given } = server.address() as AddressInfo;
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${given}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Answer {
  status: number;
  text: string;
  type?: string;
}

async function answer(path: string | undefined, { unready, remark, metrics }: HealthOptions): Promise<Answer> {
  if (path === '/healthz') return { status: 200, text: 'ok\n' };
  if (path === '/metrics') return { status: 200, text: await metrics(), type: 'text/plain; version=0.0.4' };
  if (path !== '/readyz') return { status: 404, text: 'there are /healthz, /readyz and /metrics\n' };
  const why = await unready();
  if (why !== undefined) return { status: 503, text: `${why}\n` };
  const more = remark();
  return { status: 200, text: more === undefined ? 'ready\n' : `ready\n${more}\n` };
}

function send(response: ServerResponse, status: number, text: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' });
  response.end(text);
}

async function listening(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
  } catch (error) {
    throw new ReasonixError('config', `health checks cannot be served on ${host}:${port}: ${messageOf(error)}`, {
      hint: 'choose another --health-port (engine.health_port), or leave it out',
      cause: error,
    });
  }
}
