import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that sends exactly what a test says, to the byte. */
export interface StreamServer {
  url: string;
  bodies: Record<string, unknown>[];
  headers: IncomingMessage['headers'][];
  close(): Promise<void>;
}

export async function streamServer(
  answer: (response: ServerResponse, count: number) => void | Promise<void>,
): Promise<StreamServer> {
  const bodies: Record<string, unknown>[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      bodies.push(JSON.parse(Buffer.concat(parts).toString() || '{}'));
      headers.push(incoming.headers);
      void answer(response, bodies.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    bodies,
    headers,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export const openStream = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();

/** One chunk of a chat completion. */
export const chat = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'served-model', choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;

/** One event of a messages stream. */
export const event = (type: string, more: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
