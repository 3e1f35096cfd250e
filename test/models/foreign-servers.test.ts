import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { anthropicClient } from '../../src/models/anthropic.ts';
import type { ModelClient } from '../../src/models/contract.ts';
import { openaiClient } from '../../src/models/openai.ts';
import { responsesClient } from '../../src/models/responses.ts';
import type { WireOptions } from '../../src/models/wire.ts';
import { never, request, user } from './requests.ts';

const KEY = 'sk-test-0123456789abcdef';

interface Listener {
  url: string;
  asked: { path: string; headers: IncomingHttpHeaders }[];
  answer: (response: ServerResponse, path: string) => void;
  server: Server;
}

async function listen(): Promise<Listener> {
  const listener: Listener = {
    url: '',
    asked: [],
    answer: (response) => response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{}}'),
    server: createServer((message, response) => {
      listener.asked.push({ path: message.url ?? '', headers: message.headers });
      message.resume().on('end', () => listener.answer(response, message.url ?? ''));
    }),
  };
  await new Promise<void>((resolve) => listener.server.listen(0, '127.0.0.1', resolve));
  listener.url = `http://127.0.0.1:${(listener.server.address() as AddressInfo).port}`;
  return listener;
}

let named: Listener;
let other: Listener;
beforeEach(async () => {
  [named, other] = await Promise.all([listen(), listen()]);
});
afterEach(() => {
  vi.unstubAllEnvs();
  for (const { server } of [named, other]) {
    server.close();
    server.closeAllConnections();
  }
});

const wires: [name: string, client: (options: WireOptions) => ModelClient, path: string][] = [
  ['openai', openaiClient, '/v1/chat/completions'],
  ['responses', responsesClient, '/v1/responses'],
  ['anthropic', anthropicClient, '/v1/messages'],
];

describe.each(wires)('a server that speaks %s', (_, clientOf, path) => {
  const ask = async (more: Partial<WireOptions> = {}): Promise<unknown> => {
    const client = clientOf({ name: 'p', baseUrl: `${named.url}/v1`, ...more });
    return client.generate(request([user('x')]), { signal: never }).catch((error: unknown) => error);
  };

  it('gets none of the headers that the environment has for the vendor', async () => {
    for (const vendor of ['OPENAI', 'ANTHROPIC']) {
      vi.stubEnv(`${vendor}_CUSTOM_HEADERS`, 'X-Gateway-Key: secret-of-the-vendor\nX-API-Key: another-secret');
    }
    await ask();
    await ask({ apiKey: KEY, headers: { 'X-Mine': 'mine' } });
    expect(named.asked).toHaveLength(2);
    expect(JSON.stringify(named.asked)).not.toMatch(/secret/);
    expect(JSON.stringify(named.asked[1])).toContain(KEY);
    expect(named.asked[1]?.headers['x-mine']).toBe('mine');
    expect(process.env.OPENAI_CUSTOM_HEADERS).toContain('secret');
  });

  it.each([301, 302, 303, 307, 308])('sends nothing on to where it redirects, with %i', async (status) => {
    named.answer = (response) => response.writeHead(status, { location: `${other.url}/v1/steal?x=1` }).end();
    const error = await ask({ apiKey: KEY, headers: { 'X-Mine': 'mine' } });
    expect(other.asked).toEqual([]);
    expect(error).toMatchObject({
      code: 'provider',
      message: expect.stringContaining(other.url),
      hint: expect.stringContaining('base_url'),
      details: { status, retryable: false },
    });
  });

  it('may redirect to another path of its own', async () => {
    named.answer = (response, asked) =>
      asked === path
        ? response.writeHead(307, { location: `${path}/` }).end()
        : response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"it arrived"}}');
    expect(await ask({ apiKey: KEY })).toMatchObject({ message: expect.stringContaining('it arrived') });
    expect(named.asked.map((each) => each.path)).toEqual([path, `${path}/`]);
  });

  it('is not asked without end', async () => {
    named.answer = (response) => response.writeHead(308, { location: '#again' }).end();
    expect(await ask({ apiKey: KEY })).toMatchObject({ details: { status: 308, retryable: false } });
    expect(named.asked.length).toBeLessThan(10);
  });
});
