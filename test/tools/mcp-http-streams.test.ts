import type { ServerResponse } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { boundedEvents } from '../../src/tools/mcp/bounded-body.ts';
import { type Answer, add, client, KEY, listening, orderly, problemOf } from './mcp-web.ts';

const events = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

/** Writes as fast as it is read, without end. */
function endless(response: ServerResponse): void {
  const part = Buffer.alloc(1 << 20, 97);
  const more = (): void => {
    while (!response.destroyed && response.write(part));
  };
  response.on('drain', more);
  more();
}

describe('an answer without end', () => {
  it.each(['text/plain', 'application/json', 'text/event-stream'])('of an error ends: %s', async (type) => {
    const why = await problemOf((response) => endless(response.writeHead(500, { 'content-type': type })));
    expect(why).toMatch(/^it answered 500: /);
  });

  it('of one drop after the other keeps no status to itself', async () => {
    const why = await problemOf(
      (response) => void response.writeHead(403, { 'content-type': 'text/plain' }).write('a'),
    );
    expect(why).toMatch(/^it answered 403: /);
  });

  it.each<[string, Answer]>([
    ['JSON', (response) => endless(response.writeHead(200, { 'content-type': 'application/json' }))],
    [
      'an event',
      (response) => {
        events(response).write('data: ');
        endless(response);
      },
    ],
    [
      'an event that could be resumed',
      (response) => {
        events(response).write('id: 1\ndata: \n\ndata: ');
        endless(response);
      },
    ],
  ])('%s is a failed call, and the next one works', async (_, flood) => {
    let isFlooding = true;
    const { url, asked } = await listening((response, one, request) => {
      if (one.message?.method !== 'tools/call' || !isFlooding) return orderly(response, one, request);
      isFlooding = false;
      flood(response, one, request);
    });
    const server = client(url);
    expect(await add(server)).toMatch(/web failed to run add: .*more than 16777216 bytes/);
    expect(await add(server)).toContain('fine');
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(asked.filter(({ resumes }) => resumes !== undefined)).toEqual([]);
  });

  it.each(['\n', '\r\n', '\r'])('many events are not one, with lines that end in %j', async (end) => {
    const { url } = await listening((response, one, request) => {
      if (one.message?.method !== 'tools/call') return orderly(response, one, request);
      events(response);
      // in parts that end between the two ends of lines, too
      for (let n = 0; n < 18; n++) {
        response.write(
          `data: {"jsonrpc":"2.0","method":"notifications/x","params":{"a":"${'a'.repeat(1 << 20)}"}}${end}`,
        );
        response.write(end);
      }
      const answer = { jsonrpc: '2.0', id: one.message.id, result: { content: [{ type: 'text', text: 'all' }] } };
      response.end(`data: ${JSON.stringify(answer)}${end}${end}`);
    });
    expect(await add(client(url))).toContain('"all"');
  });
});

it('an event that ends between two parts has ended', async () => {
  const part = Buffer.from(`data: ${'a'.repeat(1 << 20)}\n`);
  const parts = Array.from({ length: 18 }, () => [part, Buffer.from('\n')]).flat();
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const next = parts.shift();
      if (next) controller.enqueue(next);
      else controller.close();
    },
  });
  const onFlood = vi.fn();
  for await (const _ of boundedEvents(body, { request: undefined, onFlood }) as unknown as AsyncIterable<Uint8Array>);
  expect(onFlood).not.toHaveBeenCalled();
  expect(parts).toEqual([]);
});

describe('a stream of events', () => {
  const calling = (answer: Answer): Answer => {
    return (response, one, request) =>
      (one.message?.method === 'tools/call' ? answer : orderly)(response, one, request);
  };

  it('that ends without an answer, or is cut, is a failed call at once', async () => {
    const ended = await listening(calling((response) => events(response).end(': nothing\n\n')));
    const cut = await listening(
      calling((response) => {
        events(response).write('data: {"jsonrpc":"2.0",');
        setTimeout(() => response.destroy(), 50);
      }),
    );
    const before = performance.now();
    expect(await add(client(ended.url))).toMatch(/failed to run add: .*ended without a result/);
    expect(await add(client(cut.url))).toMatch(/failed to run add: .*was cut/);
    expect(performance.now() - before).toBeLessThan(4_000);
  });

  it('that a server wants to be asked for again at once is, now and then', async () => {
    const { url, asked } = await listening((response, one, request) =>
      one.method === 'GET' ? events(response).end('retry: 0\n\n') : orderly(response, one, request),
    );
    await client(url).start();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const count = asked.filter(({ method }) => method === 'GET').length;
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(4);
  });
});

describe('a session', () => {
  it.each<[number, string]>([
    [404, 'Session not found'],
    [404, ''],
    [400, 'Bad Request: No valid session ID provided'],
  ])('that the server has forgotten is begun anew for the call: %i %s', async (status, text) => {
    let current = 1;
    const { url, asked } = await listening((response, one, request) => {
      const isFirst = one.message?.method === 'initialize';
      if (!isFirst && one.method === 'POST' && one.session !== `s${current}`) {
        return void response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
      }
      response.setHeader('mcp-session-id', `s${current}`);
      const { writeHead } = response;
      response.writeHead = ((code: number, headers?: Record<string, string>) =>
        writeHead.call(response, code, { ...headers, 'mcp-session-id': `s${current}` })) as typeof writeHead;
      orderly(response, one, request);
    });
    const server = client(url);
    expect(await add(server)).toContain('fine in s1');
    current = 2;
    expect(await Promise.all([add(server), add(server)])).toEqual([
      expect.stringContaining('fine in s2'),
      expect.stringContaining('fine in s2'),
    ]);
    await expect.poll(() => asked.filter(({ method }) => method === 'DELETE').length).toBe(1);
    expect(await add(server)).toContain('fine in s2');
    expect(server).toMatchObject({ state: 'ready', problem: '' });
    expect(asked.filter(({ message }) => message?.method === 'initialize').length).toBe(2);
  });

  it('is ended at the server, too, which keeps nobody waiting', async () => {
    const { url, asked } = await listening((response, one, request) =>
      one.method === 'DELETE' ? undefined : orderly(response, one, request),
    );
    const server = client(url);
    await server.start();
    const before = performance.now();
    await server.close();
    expect(performance.now() - before).toBeLessThan(3_000);
    expect(asked.filter(({ method }) => method === 'DELETE')).toMatchObject([{ session: 's1', key: KEY }]);
  });
});
