import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { McpServer } from '../../src/tools/mcp/server.ts';
import type { McpServerSettings } from '../../src/tools/mcp/settings.ts';

/** MCP servers over HTTP that answer as a test says, and our client of them. */

export const KEY = 'made-up-key-1';

export interface Asked {
  method: string;
  path: string;
  key: unknown;
  session: unknown;
  resumes: unknown;
  message: { id?: number; method?: string } | undefined;
}

export type Answer = (response: ServerResponse, asked: Asked, request: IncomingMessage) => void;

/** A server on an origin of its own, with all that it was asked. */
export async function listening(answer: Answer) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    response.on('error', () => {});
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const text = Buffer.concat(parts).toString();
      const { 'x-api-key': key, 'mcp-session-id': session, 'last-event-id': resumes } = request.headers;
      const message = text === '' ? undefined : (JSON.parse(text) as NonNullable<Asked['message']>);
      const one = { method: request.method ?? '', path: request.url ?? '', key, session, resumes, message };
      asked.push(one);
      answer(response, one, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const RESULTS: Readonly<Record<string, (of: Asked) => unknown>> = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'web', version: '1' },
  }),
  'tools/list': () => ({ tools: [{ name: 'add', inputSchema: { type: 'object' } }] }),
  'tools/call': ({ session }) => ({ content: [{ type: 'text', text: `fine in ${String(session)}` }] }),
};

/** Answers as a server does that is in order. */
export const orderly: Answer = (response, asked) => {
  const { id, method } = asked.message ?? {};
  if (asked.method !== 'POST') return void response.writeHead(405).end();
  if (id === undefined) return void response.writeHead(202).end();
  const result = RESULTS[method ?? '']?.(asked);
  response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
};

export function client(
  url: string,
  more: Partial<McpServerSettings> = {},
  env: Record<string, string> = { KEY },
): McpServer {
  const headers = { 'X-Api-Key': ['$', '{KEY}'].join('') };
  const settings = { name: 'web', url, headers, start_timeout: 8_000, call_timeout: 8_000, ...more };
  const server = new McpServer(settings, { env, cwd: '/' });
  onTestFinished(() => server.close());
  return server;
}

/** Why a server did not start that answers like this. */
export async function problemOf(answer: Answer): Promise<string> {
  const { url } = await listening(answer);
  const server = client(`${url}/mcp`);
  await server.start();
  expect(server.state).toBe('failed');
  return server.problem;
}

export const add = (server: McpServer): Promise<string> =>
  server.call('add', {}, { signal: new AbortController().signal, onProgress: () => {} }).then(
    ({ content }) => JSON.stringify(content),
    (error: Error) => error.message,
  );
